"""The recorded runs of one plan over time."""
