"""Inference on A/B tests: windows, paired differences, confidence sequences, screenings."""
