"""The server's sessions, open transactions, lock waits and last deadlock."""
