"""The ground: units, files, errors, the clock, texts of others; imports nothing else of tuibench."""
