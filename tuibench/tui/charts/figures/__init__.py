"""Figures of the server and host screens: source and number format of each."""
