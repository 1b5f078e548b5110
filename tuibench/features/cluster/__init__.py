"""A load from several hosts: `tuibench agent` on each of them, steered by one session."""
