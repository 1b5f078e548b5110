"""Panels about the server: figures, counters, sessions, statements, settings, durability."""
