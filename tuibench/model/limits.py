"""How far a load can be pushed: beyond these a number is a slip of the finger."""

MAX_THREADS = 100_000
MAX_RATE = 10_000_000
"""Transactions per second."""

MAX_CLIENT_DELAY_MS = 10_000.0
