"""What we change on the server, and how it is undone."""
