"""Command line. The only package that uses click and writes to stdout."""
