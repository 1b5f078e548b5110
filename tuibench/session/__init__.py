"""A session: a run from start to end, its Unix socket service, and the client of that service."""
