"""Shell completion for bash, zsh and fish. Imported only for completion requests."""
