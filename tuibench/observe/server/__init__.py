"""The server's status and variables over a connection of their own."""
