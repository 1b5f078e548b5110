"""What mysqlslap would send: the SQL it makes up, the order each client sends it in, and what goes before.

The texts are mysqlslap's, word for word: either tool puts the same load on a server.
"""
