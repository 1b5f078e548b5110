"""Replication: the replicas of a server, and their lag."""
