"""How a command runs: the event loop, a new session, a run without a screen, the viewer, running sessions."""
