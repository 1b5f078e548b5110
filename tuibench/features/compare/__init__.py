"""`tuibench compare` and `history`: recorded runs compared with each other, and over time."""
