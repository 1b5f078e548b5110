"""The load plan of a run: its timeline of levels, and the runner that applies them."""
