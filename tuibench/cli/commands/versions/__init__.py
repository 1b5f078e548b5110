"""`tuibench versions`: compares server programs."""
