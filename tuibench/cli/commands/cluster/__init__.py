"""`tuibench cluster`: looks after the hosts of a load."""
