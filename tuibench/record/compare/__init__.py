"""Comparison of recorded runs, in figures and as text."""
