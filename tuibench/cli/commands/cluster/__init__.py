"""`tuibench cluster`: checks the load hosts of a cluster run."""
