"""Command line: the only package that uses click and writes to stdout."""
