"""What is tried on a running server: effects of changes, A/B tests, probes, screenings of settings."""
