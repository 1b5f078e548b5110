"""Diagnosis: what limits throughput, and whether the measurement is reliable."""
