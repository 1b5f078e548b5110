"""Operator commands: what they change, within which limits, and the guard before a production server."""
