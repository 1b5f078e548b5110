"""Time series: rates of counters, slots, the end of a transient, the cost of a commit."""
