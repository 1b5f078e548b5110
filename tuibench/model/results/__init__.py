"""Written results: summaries, comparisons of runs, sweeps, comparisons of versions."""
