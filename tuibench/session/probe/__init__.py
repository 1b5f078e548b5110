"""The saturation probe: which levels to measure, when a step is known well enough, and the result."""
