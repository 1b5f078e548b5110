"""Entry point of `tuibench` and `python -m tuibench`."""

from tuibench import credentials


def main() -> None:
    """Hides passwords before it imports anything else."""
    credentials.conceal()
    from tuibench.cli.main import main as program

    program()


if __name__ == "__main__":
    main()
