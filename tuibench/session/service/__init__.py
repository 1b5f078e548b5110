"""The session as a process: Unix socket, viewers, client, registry, and the Prometheus endpoint."""
