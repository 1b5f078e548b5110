"""Who runs it: fleet, worker, engine, data loading."""
