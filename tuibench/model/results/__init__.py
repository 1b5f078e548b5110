"""Results as they are written: summaries, comparisons of runs, sweeps, versions."""
