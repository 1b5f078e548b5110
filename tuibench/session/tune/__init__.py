"""Screening of settings on the running server: candidates, windows, verdicts."""
