"""The event log of a run, and the bus that sends every message to record, history and listeners."""
