"""The terminal that goes away, and the process that is continued: what Textual's driver makes nothing of.

A viewer that is not the leader of its terminal's session hears of no SIGHUP: under nohup, in a wrapper, after
the leader was killed. It notices before the reader of keys spins at its end. Who leads one is not only hung
up but continued, too, and the driver takes that for the end of a stop.
"""

import asyncio
import os
import signal
import sys
from typing import Any

from textual.app import App

LOOK_SECONDS = 0.5


def watch(app: App[Any]) -> None:
    """Ends the app when the terminal that it reads keys from is there no more. To be undone by `leave`."""
    descriptor = _keys()
    if descriptor is not None and os.isatty(descriptor):
        app.set_interval(LOOK_SECONDS, lambda: None if os.isatty(descriptor) else app.exit())
        asyncio.get_running_loop().add_signal_handler(signal.SIGCONT, _continued, app, descriptor)


def leave() -> None:
    """Nobody is left to be continued."""
    asyncio.get_running_loop().remove_signal_handler(signal.SIGCONT)


def _continued(app: App[Any], descriptor: int) -> None:
    """Takes the terminal over again, which a shell may have used meanwhile.

    After a SIGTSTP the driver has given it back. It has not after a SIGSTOP, and would start a second reader
    of keys beside the first, which then nobody ends.
    """
    driver: Any = app._driver
    if app._exit or driver is None or not os.isatty(descriptor):
        return
    if not getattr(driver, "_must_signal_resume", False):
        driver.suspend_application_mode()
    driver.resume_application_mode()
    app.screen.refresh()


def _keys() -> int | None:
    try:
        return sys.__stdin__.fileno() if sys.__stdin__ else None
    except (OSError, ValueError):
        return None
