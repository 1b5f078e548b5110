"""Commands: one module for each, or a package with the module `command`."""
