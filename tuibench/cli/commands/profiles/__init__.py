"""`tuibench profiles`: list, show, check, or make a profile of observed traffic."""
