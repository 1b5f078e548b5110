"""Panels of the screens: pure functions from a View and a size to lines of spans."""
