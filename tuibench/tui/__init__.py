"""The terminal user interface: displays a session through its client, and submits the operator's commands."""
