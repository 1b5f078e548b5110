"""Replicas of a server: where they are, and how far they are behind."""
