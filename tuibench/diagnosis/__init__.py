"""What limits the throughput: indicators taken from samples, and their limits."""
