"""Entry point of `tuibench` and `python -m tuibench`."""

import sys

from tuibench.base import credentials, own_process


def main() -> None:
    """Conceal passwords, exclude the current folder from imports, then import and run the program.

    A page of help that is kept needs no program.
    """
    own_process.leave_current_folder()
    credentials.conceal()
    from tuibench.cli import kept_help

    asked = kept_help.asked_page(sys.argv[1:])
    if asked is not None and kept_help.print_kept(asked):
        return
    from tuibench.cli.main import main as program

    program()


if __name__ == "__main__":
    main()
