"""The three standard streams as the program finds them: one that its caller has closed leads nowhere, and a
character that a terminal's encoding does not have is printed as a question mark.

Its number must not be left to the next socket that is opened: what is then printed would go to the server,
and the event loop refuses to close such a descriptor.
"""

import codecs
import io
import os
import sys
from typing import TextIO

NAMES = ("stdin", "stdout", "stderr")


def complete() -> None:
    """Opens those that are closed on the null device; before anything else is opened."""
    for number, name in enumerate(NAMES):
        if not _is_open(number):
            os.dup2(os.open(os.devnull, os.O_RDWR), number, inheritable=True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        _forgive(stream)


def _forgive(stream: TextIO | None) -> None:
    """ISO-8859-1 and its kin have no …, → or ≥: no reason to end."""
    if isinstance(stream, io.TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8":
        stream.reconfigure(errors="replace")


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
