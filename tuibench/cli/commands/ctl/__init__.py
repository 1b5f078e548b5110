"""`tuibench ctl`: sends one command to a running session."""
