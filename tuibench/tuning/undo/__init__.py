"""Restoring settings: journal, ownership between sessions, restore, guardian process."""
