"""Commands: one module each, or a package with the module `command`."""
