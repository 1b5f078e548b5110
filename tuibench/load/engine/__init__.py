"""The load engine: runs a program on many connections of one process."""
