"""`tuibench crash`: kills a private server under load, and determines what is lost."""
