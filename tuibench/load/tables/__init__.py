"""Tables of a data set: prepare, load, check, clean up."""
