"""The server's status and variables, read over a separate connection."""
