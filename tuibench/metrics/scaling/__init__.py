"""Scalability: the knee of throughput against load, and the Universal Scalability Law."""
