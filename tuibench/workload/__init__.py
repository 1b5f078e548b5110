"""What to run: profiles compiled to programs, keys, values, data sets; no I/O."""
