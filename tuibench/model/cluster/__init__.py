"""Load from several hosts: the plan, the hosts and their check."""
