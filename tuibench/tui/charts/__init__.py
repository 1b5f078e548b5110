"""The state behind the charts: the history of a run, the time grid, zoom, cursor and compared spans."""
