"""`tuibench web`: the screen of a running session in the browser."""
