"""Throughput against load: the knee, and the Universal Scalability Law."""
