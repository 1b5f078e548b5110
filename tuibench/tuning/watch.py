"""The guardian's own process: wait for the session's end, then put back what its journal still holds.

The order comes as one line on stdin; stdin's end is the session's end, however it came. Signals that end a
terminal's programs are ignored: being there afterwards is this process's only purpose.
"""

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import msgspec

from tuibench.clock import NS_PER_SECOND, Clock, SystemClock
from tuibench.errors import TuibenchError
from tuibench.model.target import Target
from tuibench.tuning.control import Connect, Control, control_connect
from tuibench.tuning.journal import Journal, JournalBusyError
from tuibench.tuning.patience import pauses
from tuibench.tuning.undo import Outcome, undo

READY = b"ready\n"
PATIENCE_SECONDS = 120.0
"""How long a guardian keeps trying while the server is away; after that `tuibench restore` has to."""

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_DEAF_TO = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT)


class Order(msgspec.Struct, frozen=True):
    """What a guardian is told: where the server is, password and all, and which journal to watch over."""

    target: Target
    journal: str


def main() -> int:
    """The process: 0 if nothing is left to put back, 1 otherwise."""
    for number in _DEAF_TO:
        signal.signal(number, signal.SIG_IGN)
    line = _read_line()
    if not line:
        return 0
    order = msgspec.json.decode(line, type=Order)
    path, connect = Path(order.journal).absolute(), control_connect(order.target)
    os.write(_STDOUT, READY)
    _fall_silent()
    _wait_for_end()
    try:
        return 0 if asyncio.run(restore_patiently(path, connect, SystemClock())) else 1
    except TuibenchError:
        return 1


async def restore_patiently(
    path: Path, connect: Connect, clock: Clock, patience_seconds: float = PATIENCE_SECONDS
) -> bool:
    """Tries until nothing more can be done, or patience ends; True if nothing is left in the journal.

    Raises JournalError when the journal is damaged.
    """
    deadline_ns = clock.now_ns() + int(patience_seconds * NS_PER_SECOND)
    control = Control(connect)
    try:
        for pause in pauses():
            outcomes = await _attempt(path, control, clock)
            if Outcome.UNREACHABLE not in outcomes:
                return Outcome.REFUSED not in outcomes
            if clock.now_ns() + pause * NS_PER_SECOND > deadline_ns:
                return False
            await clock.sleep(pause)
    finally:
        await control.close()
    return False


async def _attempt(path: Path, control: Control, clock: Clock) -> set[Outcome]:
    """One try. The lock is let go between tries, so that `tuibench restore` can step in."""
    try:
        journal = Journal.claim(path)
    except JournalBusyError:
        return {Outcome.UNREACHABLE}
    if journal is None:
        return set()
    with journal:
        return {restored.outcome for restored in await undo(control, journal, clock)}


def _read_line() -> bytes:
    """The first line of stdin; empty if the session ended before it was whole."""
    line = b""
    while not line.endswith(b"\n"):
        more = os.read(_STDIN, 65536)
        if not more:
            return b""
        line += more
    return line


def _fall_silent() -> None:
    """Lets go of the session's pipes and terminal, and of its directory."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, _STDOUT)
    os.dup2(null, _STDERR)
    os.close(null)
    with contextlib.suppress(OSError):
        os.chdir("/")


def _wait_for_end() -> None:
    while os.read(_STDIN, 4096):
        pass
