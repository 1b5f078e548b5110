"""Prometheus metrics of a running session: names, units, help texts."""
