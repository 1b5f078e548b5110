"""Sampling of server, host and server activity, once per tick."""
