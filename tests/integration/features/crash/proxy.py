"""A proxy on a Unix socket that spoils acknowledgements: it drops the answer to a COMMIT, or invents one; or
drops those to other requests.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from enum import Enum, auto
from pathlib import Path

from tuibench.model.server import Target
from tuibench.mysql.connection import ENCODING
from tuibench.mysql.packets import text_packet

COMMIT, ROLLBACK = text_packet("COMMIT", ENCODING), text_packet("ROLLBACK", ENCODING)
CHUNK = 65536
SPOILED = 5
"""Every so many COMMITs, the next one is spoiled."""


class Spoil(Enum):
    """DROP: the server commits, and the connection ends without its answer.

    INVENT: the server rolls back, and its OK passes for the answer to COMMIT.
    """

    DROP = auto()
    INVENT = auto()


class SpoilingProxy:
    """Passes everything on but every fifth COMMIT, or request of another kind; `spoiled` counts those."""

    def __init__(
        self, target: Target, spoil: Spoil, is_meant: Callable[[bytes], bool] = COMMIT.__eq__
    ) -> None:
        self._is_meant = is_meant
        self.spoiled = 0
        self._target = target
        self._spoil = spoil
        self._commits = 0
        self._serving: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def listening(self, socket: Path) -> AsyncIterator[None]:
        server = await asyncio.start_unix_server(self._accept, socket)
        try:
            yield
        finally:
            server.close()
            await asyncio.gather(*self._serving, return_exceptions=True)
            socket.unlink(missing_ok=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_unix_connection(self._target.socket)
        serving = asyncio.current_task()
        assert serving is not None
        self._serving.add(serving)
        answers = asyncio.create_task(_pass_on(there, writer))
        try:
            while data := await reader.read(CHUNK):
                self._commits += (is_meant := self._is_meant(data))
                if not is_meant or self._commits % SPOILED:
                    back.write(data)
                    continue
                self.spoiled += 1
                if self._spoil is Spoil.INVENT:
                    back.write(ROLLBACK)
                    continue
                answers.cancel()
                await asyncio.wait([answers])
                back.write(data)
                assert await there.read(CHUNK)
                break
        finally:
            answers.cancel()
            writer.close()
            back.close()
            self._serving.discard(serving)


async def _pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(CHUNK):
        sink.write(data)
    sink.close()
