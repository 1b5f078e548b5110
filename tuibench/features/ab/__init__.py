"""A/B tests: alternate two values under load until one is certainly better, or both are equal."""
