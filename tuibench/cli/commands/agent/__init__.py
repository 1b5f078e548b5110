"""`tuibench agent`: drives load on this host for a session elsewhere."""
