"""Load from several hosts: the agent on each of them, how it is reached, lease, clock, losses."""
