"""Panels about the load: main figures, latencies, costs, the hosts that produce it."""
