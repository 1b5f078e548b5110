"""The conductor of a run, its unix-socket service and its client."""
