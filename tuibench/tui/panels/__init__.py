"""What each part of the live screen says: pure functions from a View and a size to lines of spans."""
