"""Completion by the Tab key for bash, zsh and fish. Imported only for completion requests."""
