"""Output of commands: stdout, stderr, text and JSON, progress bars."""
