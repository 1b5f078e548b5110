"""`tuibench sweep`: runs a load under every combination of threads and settings."""
