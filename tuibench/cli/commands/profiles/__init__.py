"""`tuibench profiles`: lists, shows and checks profiles, or creates one from observed traffic."""
