"""State behind the charts: history of the run, time grid, zoom, cursor and compared spans."""
