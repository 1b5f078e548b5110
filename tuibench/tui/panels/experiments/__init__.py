"""Panels for experiments: probes, screenings of settings."""
