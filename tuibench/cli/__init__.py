"""The command line. The only room that imports typer and writes to stdout."""
