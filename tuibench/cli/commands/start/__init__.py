"""`tuibench start`: the start form's choice of servers, its values, and the run that it starts."""
