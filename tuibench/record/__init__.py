"""Record of a run: the run directory, reports and comparisons."""
