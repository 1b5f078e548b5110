"""A proxy on a Unix socket that falsifies what the server did with an increment of the anomaly meter."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from enum import Enum, auto
from pathlib import Path

from tuibench.model.server import Target
from tuibench.mysql.connection import ENCODING
from tuibench.mysql.packets import text_packet

COMMIT, ROLLBACK = text_packet("COMMIT", ENCODING), text_packet("ROLLBACK", ENCODING)
INCREMENT = b"UPDATE anomaly_counter"
OK = bytes((7, 0, 0, 1, 0, 1, 0, 3, 0, 0, 0))
"""The answer to a statement that changed one row, within a transaction."""
CHUNK = 65536
SPOILED = 5
"""Every so many increments, the next one is spoiled."""


class Lie(Enum):
    """SWALLOW: the UPDATE is not executed, and answered with OK. TWICE: it is executed twice. INVENT: its
    transaction is rolled back, and the OK passes for the answer to COMMIT.
    """

    SWALLOW = auto()
    TWICE = auto()
    INVENT = auto()


class LyingProxy:
    """Passes everything on but every fifth increment; `spoiled` counts those."""

    def __init__(self, target: Target, lie: Lie) -> None:
        self.spoiled = 0
        self._target = target
        self._lie = lie
        self._increments = 0
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
        is_doomed = False
        try:
            while data := await reader.read(CHUNK):
                is_increment = INCREMENT in data
                self._increments += is_increment
                is_spoiled = is_increment and self._increments % SPOILED == 0
                self.spoiled += is_spoiled
                if is_doomed and data == COMMIT:
                    is_doomed, data = False, ROLLBACK
                if is_spoiled and self._lie is Lie.SWALLOW:
                    writer.write(OK)
                    continue
                if is_spoiled and self._lie is Lie.TWICE:
                    answers.cancel()
                    await asyncio.wait([answers])
                    back.write(data)
                    assert await there.read(CHUNK)
                    answers = asyncio.create_task(_pass_on(there, writer))
                is_doomed |= is_spoiled and self._lie is Lie.INVENT
                back.write(data)
        finally:
            answers.cancel()
            writer.close()
            back.close()
            self._serving.discard(serving)


async def _pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(CHUNK):
        sink.write(data)
    sink.close()
