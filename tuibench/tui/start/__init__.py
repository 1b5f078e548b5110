"""The start form: which server, which load. A `Backstage` does the work, nothing is decided here."""
