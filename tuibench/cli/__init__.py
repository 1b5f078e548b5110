"""Command line: the only package that uses typer and writes to stdout."""
