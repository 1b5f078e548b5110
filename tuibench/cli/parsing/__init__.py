"""From the arguments to the values of options; help, and the parser's errors."""
