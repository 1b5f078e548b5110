"""The commands: a module each, by its name, or a package with the module `command`."""
