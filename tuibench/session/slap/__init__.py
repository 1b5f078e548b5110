"""mysqlslap's test: schema, clients and iterations for each engine and number of clients."""
