"""Entry point of `tuibench` and `python -m tuibench`."""

from tuibench.base import credentials, own_process


def main() -> None:
    """Conceal passwords, exclude the current folder from imports, then import and run the program."""
    own_process.leave_current_folder()
    credentials.conceal()
    from tuibench.cli.main import main as program

    program()


if __name__ == "__main__":
    main()
