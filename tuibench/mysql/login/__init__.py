"""Login: handshake, TLS, authentication plugins, password commands."""
