"""The way into a session: a socket that is put up again when somebody sweeps it away.

The folder for sockets goes when its user's last login ends, though a session outlives that; at the next
login the session must be found again.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from tuibench.errors import RunError
from tuibench.session.sockets import listening

LONGEST_LINE_BYTES = 1 << 16
LOOK_SECONDS = 2.0

Welcome = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Door:
    """Open from `open` to `close`; `keep` looks after it in between."""

    def __init__(self, path: Path, welcome: Welcome) -> None:
        self._path = path
        self._welcome = welcome
        self._server: asyncio.Server | None = None
        self._inode = 0

    async def open(self) -> None:
        """Listens. Raises RunError when that is not possible."""
        sock = listening(self._path)
        self._inode = self._path.stat().st_ino
        self._server = await asyncio.start_unix_server(self._welcome, sock=sock, limit=LONGEST_LINE_BYTES)

    async def keep(self) -> None:
        """Looks every now and then whether the socket is still there."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Opens anew when the socket has gone; not yet, when its folder cannot be made now."""
        if self._is_there():
            return
        if self._server is not None:
            self._server.close()
        with contextlib.suppress(RunError):
            await self.open()

    def close(self) -> None:
        """Listens no more; those who are in stay."""
        if self._server is not None:
            self._server.close()
        if self._is_there():
            self._path.unlink(missing_ok=True)

    def _is_there(self) -> bool:
        try:
            return self._path.stat().st_ino == self._inode
        except OSError:
            return False
