"""Panels for the load: main figures, latencies, costs, load hosts."""
