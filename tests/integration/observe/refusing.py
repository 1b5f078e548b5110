"""A server of another make, simulated: a proxy that answers with an error what such a server does not know.

It reads the packets of clients: statements that match are refused and never reach the server behind it; the
greeting may give another version. TiDB, Vitess and ProxySQL answer so to SHOW and SET statements they lack.
"""

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import AsyncIterator

from tuibench.model.server import Target

HEADER, QUERY, PREPARE = 4, 0x03, 0x16
EVERYTHING_OURS = re.compile(
    r"^\s*(SET(?! SESSION autocommit)|SHOW|FLUSH|GRANT|EXPLAIN|DESC|INSTALL|CHECK|ANALYZE)\b|@@"
    r"|\b(VERSION|CONNECTION_ID|DATABASE|CURRENT_USER|UNIX_TIMESTAMP|SYSDATE)\("
    r"|information_schema|performance_schema|\bmysql\.|\bsys\.",
    re.IGNORECASE,
)
"""Statements about the server, and none of a load's on its tables."""


class RefusingProxy:
    """In front of a server at a port. `refused` counts what was refused, by the statement's beginning."""

    def __init__(
        self, target: Target, pattern: re.Pattern[str], *, version: str = "", error: int = 1064
    ) -> None:
        self.refused: Counter[str] = Counter()
        self._target = target
        self._pattern = pattern
        self._version = version.encode()
        self._error = error
        self._tasks: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[Target]:
        """Listens until the block ends; the way to it."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        try:
            port = server.sockets[0].getsockname()[1]
            yield Target(
                host="127.0.0.1",
                port=port,
                user=self._target.user,
                password=self._target.password,
                database=self._target.database,
                ssl_mode="disabled",
            )
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, there = await asyncio.open_unix_connection(self._target.socket)
        for work in (self._to_server(reader, there, writer), self._to_client(back, writer)):
            task = asyncio.create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _to_server(
        self, reader: asyncio.StreamReader, there: asyncio.StreamWriter, client: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                packet = await read_packet(reader)
                if self._is_refused(packet):
                    client.write(self._error_packet())
                else:
                    there.write(packet)
        there.transport.abort()

    async def _to_client(self, back: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            client.write(self._greeting(await read_packet(back)))
            while data := await back.read(65_536):
                client.write(data)
        client.transport.abort()

    def _is_refused(self, packet: bytes) -> bool:
        if packet[3] or len(packet) <= HEADER or packet[HEADER] not in (QUERY, PREPARE):
            return False
        text = packet[HEADER + 1 :].decode("utf-8", "replace")
        if self._pattern.search(text) is None:
            return False
        self.refused[" ".join(text.split()[:3])] += 1
        return True

    def _error_packet(self) -> bytes:
        body = b"\xff" + self._error.to_bytes(2, "little") + b"#42000You have an error in your SQL syntax"
        return len(body).to_bytes(3, "little") + b"\x01" + body

    def _greeting(self, packet: bytes) -> bytes:
        """The server's first packet with the other version in it."""
        if not self._version:
            return packet
        end = packet.index(b"\0", HEADER + 1)
        body = packet[HEADER : HEADER + 1] + self._version + packet[end:]
        return len(body).to_bytes(3, "little") + packet[3:4] + body


async def read_packet(reader: asyncio.StreamReader) -> bytes:
    """One packet with its header."""
    header = await reader.readexactly(HEADER)
    return header + await reader.readexactly(int.from_bytes(header[:3], "little"))
