"""Recorded runs: the files of a run directory, their writer and their readers."""
