"""Which sessions of this user run here, and which of them is meant.

Asking costs a bounded time, whatever the sessions do; what a dead one left behind is cleared away.
"""

import asyncio
import contextlib
import errno
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from tuibench import paths
from tuibench.errors import SessionAwayError, UsageError
from tuibench.model.message import Hello
from tuibench.session.client import SessionClient
from tuibench.session.peers import peer_of
from tuibench.session.sockets import SUFFIX, calling
from tuibench.workload import nearest

PATIENCE_SECONDS = 2.0
DEAD = frozenset({errno.ECONNREFUSED, errno.ENOENT})
"""How the system says that nobody listens."""


class Entry(NamedTuple):
    """One session: what it says of itself, or why it says nothing. `pid` is 0 if it is not known."""

    name: str
    path: Path
    hello: Hello | None
    pid: int = 0
    trouble: str = ""


async def sessions(patience_seconds: float = PATIENCE_SECONDS) -> list[Entry]:
    """All that run, by name, also those that do not answer."""
    asked = await asyncio.gather(*(_ask(path, patience_seconds) for path in _sockets()))
    return sorted((entry for entry in asked if entry is not None), key=lambda entry: entry.name)


async def find(wanted: str, patience_seconds: float = PATIENCE_SECONDS) -> Path:
    """The socket of the session meant: by its name, a unique beginning or part of it; empty: the only one.

    Raises SessionAwayError when there is none, with the nearest name; UsageError when several are meant.
    """
    running = await sessions(patience_seconds)
    names = [entry.name for entry in running]
    if not names:
        raise SessionAwayError("no session is running", "start one with tuibench live … or run … --detach")
    meant = nearest.matching(wanted, names)
    if len(meant) > 1:
        raise UsageError(f"several sessions are meant: {nearest.listed(meant)}", "name one of them")
    if not meant:
        near = get_close_matches(wanted, names, 1, cutoff=0.0)
        raise SessionAwayError(f"there is no session '{wanted}'", f"did you mean '{near[0]}'?")
    return next(entry.path for entry in running if entry.name == meant[0])


def _sockets() -> Iterable[Path]:
    for folder in paths.runtime_dirs():
        with contextlib.suppress(OSError):
            yield from sorted(path for path in folder.glob(f"*{SUFFIX}") if path.is_socket())


async def _ask(path: Path, patience_seconds: float) -> Entry | None:
    """What the session behind a socket is; None if there is none any more."""
    try:
        client = await SessionClient.connect(path, patience_seconds)
    except SessionAwayError as error:
        pid = _listener(path)
        if pid is None:
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        return Entry(path.name.removesuffix(SUFFIX), path, None, pid, error.message)
    await client.close()
    return Entry(client.hello.session, path, client.hello, client.hello.pid)


def _listener(path: Path) -> int | None:
    """The process that listens there, 0 if the system does not tell; None if nobody listens."""
    try:
        with calling(path) as sock:
            return peer_of(sock).pid
    except OSError as error:
        return None if error.errno in DEAD else 0
