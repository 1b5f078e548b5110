"""`tuibench start`: the servers that the start form offers, its values, and what it starts."""
