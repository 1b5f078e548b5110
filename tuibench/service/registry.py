"""Registry of the sessions of this machine.

Registry of this user's running sessions, and lookup by name.

A lookup takes a limited time, whatever the state of the sessions; files of ended sessions are removed.

A session's listening socket, which is reopened if its file is removed.

The folder for sockets is removed after the user's last logout, but a session may continue; after the next
login the session must be found again.
"""

import asyncio
import contextlib
import errno
from collections.abc import Awaitable, Callable, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from tuibench import paths, suggestions
from tuibench.errors import RunError, SessionUnreachableError, UsageError
from tuibench.model.message import Hello
from tuibench.service.client import SUFFIX, SessionClient, connect_unix, listen_unix, peer_of

HELLO_TIMEOUT_SECONDS = 2.0
DEAD = frozenset({errno.ECONNREFUSED, errno.ENOENT})
"""The system's errors for a socket without a listener."""


class SessionEntry(NamedTuple):
    """One session: its description, or the reason why there is none. `pid` is 0 if unknown."""

    name: str
    path: Path
    hello: Hello | None
    pid: int = 0
    error: str = ""


async def running_sessions(timeout_seconds: float = HELLO_TIMEOUT_SECONDS) -> list[SessionEntry]:
    """All running sessions by name, including those that do not answer."""
    asked = await asyncio.gather(*(_ask(path, timeout_seconds) for path in _sockets()))
    return sorted((entry for entry in asked if entry is not None), key=lambda entry: entry.name)


async def find_session(wanted: str, timeout_seconds: float = HELLO_TIMEOUT_SECONDS) -> Path:
    """The socket of a session: by its name, a unique beginning or part of it; empty: the only one.

    Raises SessionAwayError if there is none, with the nearest name; UsageError if several match.
    """
    running = await running_sessions(timeout_seconds)
    names = [entry.name for entry in running]
    if not names:
        raise SessionUnreachableError(
            "no session is running", "start one with tuibench live … or run … --detach"
        )
    meant = suggestions.matching_names(wanted, names)
    if len(meant) > 1:
        raise UsageError(f"several sessions match: {suggestions.abbreviated_list(meant)}", "name one of them")
    if not meant:
        near = get_close_matches(wanted, names, 1, cutoff=0.0)
        raise SessionUnreachableError(f"there is no session '{wanted}'", f"did you mean '{near[0]}'?")
    return next(entry.path for entry in running if entry.name == meant[0])


def _sockets() -> Iterable[Path]:
    for folder in paths.runtime_dirs():
        with contextlib.suppress(OSError):
            yield from sorted(path for path in folder.glob(f"*{SUFFIX}") if path.is_socket())


async def _ask(path: Path, timeout_seconds: float) -> SessionEntry | None:
    """What the session behind a socket is; None if there is none any more."""
    try:
        client = await SessionClient.connect(path, timeout_seconds)
    except SessionUnreachableError as error:
        pid = _listener(path)
        if pid is None:
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        return SessionEntry(path.name.removesuffix(SUFFIX), path, None, pid, error.message)
    await client.close()
    return SessionEntry(client.hello.session, path, client.hello, client.hello.pid)


def _listener(path: Path) -> int | None:
    """The process that listens there, 0 if unknown; None without a listener."""
    try:
        with connect_unix(path) as sock:
            return peer_of(sock).pid
    except OSError as error:
        return None if error.errno in DEAD else 0


LONGEST_LINE_BYTES = 1 << 16
CHECK_SECONDS = 2.0
WAITING_CALLS = 1024
"""Length of the kernel's queue of connections; more are refused."""

OnConnect = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class SocketListener:
    """Open from `open` to `close`; `keep` checks the socket in between."""

    def __init__(self, path: Path, on_connect: OnConnect) -> None:
        self._path = path
        self._on_connect = on_connect
        self._server: asyncio.Server | None = None
        self._inode = 0

    async def open(self) -> None:
        """Listens. Raises RunError when that is not possible."""
        sock = listen_unix(self._path)
        self._inode = self._path.stat().st_ino
        self._server = await asyncio.start_unix_server(
            self._on_connect, sock=sock, limit=LONGEST_LINE_BYTES, backlog=WAITING_CALLS
        )

    async def keep(self) -> None:
        """Check regularly whether the socket still exists."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            await self.check()

    async def check(self) -> None:
        """Reopens a removed socket; later, if its folder cannot be created now."""
        if self._is_there():
            return
        if self._server is not None:
            self._server.close()
        with contextlib.suppress(RunError):
            await self.open()

    def close(self) -> None:
        """Stops listening; open connections stay."""
        if self._server is not None:
            self._server.close()
        if self._is_there():
            self._path.unlink(missing_ok=True)

    def _is_there(self) -> bool:
        try:
            return self._path.stat().st_ino == self._inode
        except OSError:
            return False
