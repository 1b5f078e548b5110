"""The effects of changes made during a run, and A/B tests of two values."""
