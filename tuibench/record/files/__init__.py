"""Files of a run or sweep: writing, reading, lookup, and reconstruction after a crash."""
