"""Profiles from observed traffic: statements with their mix, and the ranges of their values."""
