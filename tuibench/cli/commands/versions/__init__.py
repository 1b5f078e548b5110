"""`tuibench versions`: server programs against each other."""
