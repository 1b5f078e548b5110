"""Start form: server and load. A `StartController` does the work."""
