"""Drawings over a time axis: charts, heat map, and what a change did drawn into them."""
