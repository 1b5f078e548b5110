"""`tuibench flame`: the CPU profile of a recorded run."""
