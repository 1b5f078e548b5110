"""Comparison of recorded runs, as figures and as text."""
