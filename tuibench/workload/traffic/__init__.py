"""From observed traffic to a profile: statements with their mix, and the ranges of their values."""
