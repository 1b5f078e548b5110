"""The words every part shares: frozen, serialisable, no I/O."""
