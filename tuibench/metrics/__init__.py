"""Arithmetic on counters, histograms and time series; no I/O."""
