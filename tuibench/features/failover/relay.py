"""A relay between a source and its replicas, which delivers late what the source sends.

    source ── binary log ──> relay ── `seconds` later ──> replica
    source <──────────── acknowledgements, at once ────── replica

What is still in the relay when the source fails is never delivered: the network of a host fails with it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

CHUNK_BYTES = 65_536


class LateRelay:
    """Relays connections to a port of the loopback; `port` is its own, while it listens.

    It delivers at once until `seconds` is set, so that a replica logs in quickly.
    """

    def __init__(self, source_port: int) -> None:
        self.port = 0
        self.seconds = 0.0
        self._source_port = source_port
        self._is_cut = False
        self._ended = asyncio.Event()
        self._serving: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            self._ended.set()
            await asyncio.gather(*self._serving, return_exceptions=True)

    def cut(self) -> None:
        """Deliver nothing any more."""
        self._is_cut = True

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.current_task()
        assert serving is not None  # noqa: S101
        self._serving.add(serving)
        try:
            await self._relay(reader, writer)
        except OSError:
            return
        finally:
            writer.close()
            self._serving.discard(serving)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relay one connection until one of its sides closes it."""
        from_source, to_source = await asyncio.open_connection("127.0.0.1", self._source_port)
        late: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        tasks: list[asyncio.Task[Any]] = [
            asyncio.create_task(self._take(from_source, late)),
            asyncio.create_task(self._deliver(late, writer)),
            asyncio.create_task(_pass_on(reader, to_source)),
            asyncio.create_task(self._ended.wait()),
        ]
        try:
            await asyncio.wait(tasks[1:], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            to_source.close()

    async def _take(self, source: asyncio.StreamReader, late: asyncio.Queue[tuple[float, bytes]]) -> None:
        """Read what the source sends, and its end, which is an empty chunk, with the time to deliver it."""
        now = asyncio.get_running_loop().time
        data = b"-"
        while data:
            try:
                data = await source.read(CHUNK_BYTES)
            except OSError:
                data = b""
            late.put_nowait((now() + self.seconds, data))

    async def _deliver(self, late: asyncio.Queue[tuple[float, bytes]], replica: asyncio.StreamWriter) -> None:
        now = asyncio.get_running_loop().time
        while True:
            due, data = await late.get()
            await asyncio.sleep(due - now())
            if self._is_cut or not data:
                return
            replica.write(data)
            await replica.drain()


async def _pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(CHUNK_BYTES):
        sink.write(data)
        await sink.drain()
