"""Notices a terminal that has gone away without a signal, before the reader of keys spins at its end.

A viewer that is not the leader of its terminal's session hears of no SIGHUP: under nohup, in a wrapper, after
the leader was killed.
"""

import os
import sys
from typing import Any

from textual.app import App

LOOK_SECONDS = 0.5


def watch(app: App[Any]) -> None:
    """Ends the app when the terminal that it reads keys from is there no more."""
    descriptor = _keys()
    if descriptor is not None and os.isatty(descriptor):
        app.set_interval(LOOK_SECONDS, lambda: None if os.isatty(descriptor) else app.exit())


def _keys() -> int | None:
    try:
        return sys.__stdin__.fileno() if sys.__stdin__ else None
    except (OSError, ValueError):
        return None
