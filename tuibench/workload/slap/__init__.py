"""mysqlslap's workload: generated SQL, the order of each client's queries, and the schema setup.

The statements are identical to mysqlslap's.
"""
