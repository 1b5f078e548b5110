"""Where the time goes: what the connections of a load wait for, and which functions use the processor."""
