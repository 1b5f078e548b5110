"""A service under test, strangers behind a socket, and how to talk to both."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from tests.unit.load.driving import turns
from tests.unit.session.fakes import FakeSession
from tuibench.session.client import SessionClient

Timer = tuple[float, Callable[..., object], tuple[object, ...]]


class Served:
    """A service under test: its fake session, its socket, and the grace timers it has set."""

    def __init__(self, session: FakeSession, socket: Path) -> None:
        self.session = session
        self.socket = socket
        self.timers: list[Timer] = []
        self.cancelled = 0
        self.serving: asyncio.Task[None]

    async def join(self) -> SessionClient:
        return await SessionClient.join(self.socket)

    async def raw(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A viewer without our client: its hello has been read."""
        reader, writer = await asyncio.open_unix_connection(self.socket)
        assert json.loads(await reader.readline())["type"] == "hello"
        return reader, writer

    async def raw_viewer(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The same, after it has joined."""
        reader, writer = await self.raw()
        writer.write(b'{"type":"join","samples":0}\n')
        assert json.loads(await reader.readline())["type"] == "hello"
        return reader, writer

    async def end(self) -> None:
        self.session.end()
        await self.serving


class Handle:
    """A timer that only the test rings."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def cancel(self) -> None:
        self._served.cancelled += 1


Serve = Callable[..., contextlib.AbstractAsyncContextManager[Served]]


async def next_of(client: SessionClient, count: int) -> list[object]:
    messages = client.messages()
    return [await anext(messages) for _ in range(count)]


@contextlib.asynccontextmanager
async def stranger(path: Path, greeting: bytes) -> AsyncIterator[asyncio.Event]:
    """Greets whoever comes and says no more; hangs up when told to, or at once without a greeting."""
    hang_up = asyncio.Event()
    callers: list[asyncio.StreamWriter] = []

    async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        callers.append(writer)
        writer.write(greeting)
        if greeting:
            await hang_up.wait()
        writer.close()

    server = await asyncio.start_unix_server(welcome, path)
    try:
        yield hang_up
    finally:
        hang_up.set()
        await turns(20)
        server.close()
        for writer in callers:
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
