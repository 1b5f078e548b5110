"""The start form: which server, which load. A `StartController` does the work, nothing is decided here."""
