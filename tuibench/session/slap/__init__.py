"""mysqlslap's test: schema, clients, clock, for each engine and number of clients, so many times over."""
