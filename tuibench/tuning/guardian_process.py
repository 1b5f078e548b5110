"""Guardian process: waits for the session's end, then restores what its journal still holds.

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
from tuibench.model.server import Target
from tuibench.tuning.connection import AdminConnection, Connect, admin_connector
from tuibench.tuning.journal import Journal, JournalBusyError
from tuibench.tuning.restore import PENDING, RestoreOutcome, restore_settings, retry_delays

READY = b"ready\n"
GUARDIAN_RETRY_SECONDS = 120.0
"""How long a guardian keeps trying while the server is away; after that `tuibench restore` has to."""

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_IGNORED_SIGNALS = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT)


class GuardianRequest(msgspec.Struct, frozen=True):
    """The input of a guardian: the server, with its password, and the journal."""

    target: Target
    journal: str


def main() -> int:
    """The process: 0 if nothing is left to restore, 1 otherwise."""
    for number in _IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    line = _read_line()
    if not line:
        return 0
    request = msgspec.json.decode(line, type=GuardianRequest)
    path, connect = Path(request.journal).absolute(), admin_connector(request.target)
    os.write(_STDOUT, READY)
    _detach()
    _wait_for_end()
    try:
        return 0 if asyncio.run(restore_until_done(path, connect, SystemClock())) else 1
    except TuibenchError:
        return 1


async def restore_until_done(
    path: Path, connect: Connect, clock: Clock, retry_seconds: float = GUARDIAN_RETRY_SECONDS
) -> bool:
    """Tries until nothing more can be done, or patience ends; True if nothing is left in the journal.

    Raises JournalError when the journal is damaged.
    """
    deadline_ns = clock.now_ns() + int(retry_seconds * NS_PER_SECOND)
    control = AdminConnection(connect)
    try:
        for pause in retry_delays():
            outcomes = await _attempt(path, control, clock)
            if RestoreOutcome.UNREACHABLE not in outcomes:
                return not outcomes & PENDING
            if clock.now_ns() + pause * NS_PER_SECOND > deadline_ns:
                return False
            await clock.sleep(pause)
    finally:
        await control.close()
    return False


async def _attempt(path: Path, control: AdminConnection, clock: Clock) -> set[RestoreOutcome]:
    """One try. The lock is released between tries, so that `tuibench restore` can take over."""
    try:
        journal = Journal.claim(path)
    except JournalBusyError:
        return {RestoreOutcome.UNREACHABLE}
    if journal is None:
        return set()
    with journal:
        return {restored.outcome for restored in await restore_settings(control, journal, clock)}


def _read_line() -> bytes:
    """The first line of stdin; empty if the session ended before it was whole."""
    line = b""
    while not line.endswith(b"\n"):
        more = os.read(_STDIN, 65536)
        if not more:
            return b""
        line += more
    return line


def _detach() -> None:
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
