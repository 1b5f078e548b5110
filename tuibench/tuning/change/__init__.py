"""Changing settings: the settings manager, one change on the server, consent for production servers."""
