"""Worker processes: the fleet of a run, a single process, the pool of idle processes."""
