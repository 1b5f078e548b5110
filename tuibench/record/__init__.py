"""Recorded runs: run directory, reports and comparisons."""
