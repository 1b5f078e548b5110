"""All figures of the server's and the host's screens: where each comes from, and how it is written."""
