"""The black box."""
