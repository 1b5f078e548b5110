"""What stays of a run: the run directory and the summary's text."""
