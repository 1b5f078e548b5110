"""Private temporary servers: detection of a server program, creation, supervision, removal.

The interface is `server`.
"""
