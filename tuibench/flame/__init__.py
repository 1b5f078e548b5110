"""CPU profiles of the server: which functions use the processor, before and after a change."""
