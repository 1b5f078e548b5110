"""`tuibench sweep`, `versions`, `bundle` and `reproduce`: a matrix of runs, and what they show."""
