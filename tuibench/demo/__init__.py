"""Private temporary servers: find a server program, create, supervise and remove.

The interface is `server`.
"""
