"""`python -m tuibench`."""

from tuibench.cli.main import main

main()
