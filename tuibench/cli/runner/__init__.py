"""Execution of commands: event loop, new sessions, headless runs, viewer, running sessions."""
