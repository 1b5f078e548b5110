"""Panels about experiments: probes, screenings of settings."""
