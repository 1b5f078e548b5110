"""`tuibench sweep`: a load under every combination of threads and settings."""
