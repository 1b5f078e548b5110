"""TPC-C's tables: definitions, sizes, rows."""
