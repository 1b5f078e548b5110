"""The three standard streams as the program finds them: one that its caller has closed leads nowhere.

Its number must not be left to the next socket that is opened: what is then printed would go to the server,
and the event loop refuses to close such a descriptor.
"""

import os
import sys

NAMES = ("stdin", "stdout", "stderr")


def complete() -> None:
    """Opens those that are closed on the null device; before anything else is opened."""
    for number, name in enumerate(NAMES):
        if not _is_open(number):
            os.dup2(os.open(os.devnull, os.O_RDWR), number, inheritable=True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
