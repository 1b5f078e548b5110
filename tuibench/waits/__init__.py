"""The account of time: what the connections of a load wait for, second by second."""
