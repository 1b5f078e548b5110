"""Entry point of `tuibench` and `python -m tuibench`."""

from tuibench import credentials


def main() -> None:
    """Hide passwords, then import and run the program."""
    credentials.conceal()
    from tuibench.cli.main import main as program

    program()


if __name__ == "__main__":
    main()
