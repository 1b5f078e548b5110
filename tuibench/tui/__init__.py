"""Terminal user interface: displays a session through its client, submits commands, decides nothing."""
