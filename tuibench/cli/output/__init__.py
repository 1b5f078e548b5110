"""What a command writes: stdout, stderr, text and JSON, progress bars."""
