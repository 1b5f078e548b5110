"""History: the recorded runs of one plan over time."""
