"""Groups of options shared by several commands."""
