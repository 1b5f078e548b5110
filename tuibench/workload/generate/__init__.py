"""Generation of transactions: random values, static and interactive transactions."""
