"""`tuibench ctl`: one command for a running session."""
