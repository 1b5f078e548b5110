"""Reports of a sweep: tables, relative tables, CSV, JSON and HTML."""
