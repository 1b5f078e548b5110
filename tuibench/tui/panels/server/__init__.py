"""Panels for the server: figures, counters, sessions, statements, settings, durability."""
