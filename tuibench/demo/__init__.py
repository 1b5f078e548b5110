"""A private throw-away server."""
