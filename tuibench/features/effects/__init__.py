"""Effects of changes during a run, stalls, and steadiness of the throughput."""
