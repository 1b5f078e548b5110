"""What a change did: windows before and after it, attribution, and levels that move by themselves."""
