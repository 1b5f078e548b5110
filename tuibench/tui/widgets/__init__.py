"""Widgets of the live screen: they paint the lines of panels."""
