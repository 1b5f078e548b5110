"""The client/server protocol on the hot path: command packets, response parsing, rows."""
