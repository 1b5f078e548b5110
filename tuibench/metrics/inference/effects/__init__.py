"""Effects of changes: windows before and after a change, attribution, and levels that move by themselves."""
