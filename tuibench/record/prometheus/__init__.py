"""A running session as Prometheus sees it: which metrics there are, their names, units and words."""
