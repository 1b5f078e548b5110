"""Experiments on a running server: effects of changes, A/B tests, probes, screening of settings."""
