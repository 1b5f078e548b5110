"""Logging in: handshake, TLS, authentication plugins, password commands."""
