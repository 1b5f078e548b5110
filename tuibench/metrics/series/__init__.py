"""Time series: rates of counters, slots, settling, cost of a commit and of an operation."""
