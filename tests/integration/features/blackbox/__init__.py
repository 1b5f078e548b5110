"""The black box on real servers."""
