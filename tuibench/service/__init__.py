"""The service of a session: its socket, its viewers, its metrics."""
