"""Load generation: workers, engines, pacing, loading of tables."""
