"""`tuibench start`: what the start form offers, means and starts."""
