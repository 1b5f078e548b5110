"""Data types that all packages share: frozen, serialisable, no I/O."""
