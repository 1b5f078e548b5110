"""A load from several hosts: what is asked for, and what each host does."""
