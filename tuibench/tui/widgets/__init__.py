"""Widgets of the live screen, which paint the lines of panels."""
