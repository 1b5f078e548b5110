"""A session's listening socket, which is reopened if its file is removed.

The folder for sockets is removed after the user's last logout, but a session may continue; after the next
login the session must be found again.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from tuibench.errors import RunError
from tuibench.session.service.unix_sockets import listen_unix

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
