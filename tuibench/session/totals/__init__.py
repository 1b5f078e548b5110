"""Aggregation of worker reports into ticks, checkpoints, alarms and the run summary."""
