"""`tuibench start`: the form that starts a run."""
