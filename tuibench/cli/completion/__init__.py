"""Completion by the Tab key, for bash, zsh and fish. No start reads it but one that a shell asks for."""
