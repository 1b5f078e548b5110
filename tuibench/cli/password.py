"""`-p`: where a password is asked for, and what happens where there is nobody to ask."""

import os
import sys

import typer

from tuibench.errors import UsageError

TERMINAL = "/dev/tty"


def asked_password() -> str:
    """What is typed, unseen; without a terminal a line of stdin. Raises UsageError if there is none."""
    if _has_terminal():
        return str(typer.prompt("Password", hide_input=True, default="", show_default=False, err=True))
    line = sys.stdin.readline()
    if not line:
        raise UsageError(
            "-p asks for the password, and there is no terminal to ask at",
            "give it by --password-command, MYSQL_PWD or an option file",
        )
    return line.rstrip("\r\n")


def _has_terminal() -> bool:
    """Whether the process has one that it may ask at, whatever its standard streams are."""
    if sys.stdin.isatty():
        return True
    try:
        os.close(os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
