"""The command line. The only room that uses click and writes to stdout."""
