"""What to run: profiles compiled to programs; keys, values, data sets. No I/O but reading profile files."""
