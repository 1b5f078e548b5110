"""Thresholds on figures and on differences between runs, and service level objectives."""
