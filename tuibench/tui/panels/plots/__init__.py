"""Plots over a time axis: charts, heat map, and effects of changes drawn into them."""
