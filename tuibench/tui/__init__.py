"""The screen: reads a session through its client and submits commands; it decides nothing about the run."""
