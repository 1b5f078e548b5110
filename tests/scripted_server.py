"""A MySQL server in this process that answers what a test wants: bytes that are wrong, too many, or none.

It greets, accepts every login, and gives each command to `respond`, which returns the bytes to send: packets
with their headers (see `tests.unit.mysql.server_packets`), None to stay silent, or an endless
iterator of them.
"""

import asyncio
import functools
import ssl
import struct
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from tests.integration.support import certificates
from tests.unit.mysql.server_packets import ok, packet, result
from tuibench.model.server import SslMode, Target
from tuibench.mysql.transport import feed

QUERY, PREPARE, QUIT = 0x03, 0x16, 0x01
END_OF_FILE = -1
"""In place of a command: the empty packet that ends the file of a LOAD DATA LOCAL."""

DEPRECATE_EOF, PLUGIN_AUTH, SECURE, PROTOCOL_41, WITH_DATABASE = 1 << 24, 1 << 19, 1 << 15, 1 << 9, 8
CAPABILITIES = DEPRECATE_EOF | PLUGIN_AUTH | SECURE | PROTOCOL_41 | WITH_DATABASE
AUTOCOMMIT = 2
SSL = 1 << 11
SSL_REQUEST_BYTES = 32
"""A login is longer."""

DEADLINE_SECONDS = 60.0
"""No test with such a server takes longer, on a busy machine either: what it waits for does not come."""
VERSIONS = {"mysql": "8.4.0", "mariadb": "5.5.5-11.4.2-MariaDB"}

Answer = bytes | Iterator[bytes] | None
Respond = Callable[[int, bytes], Answer]


def greeting(version: str, capabilities: int = CAPABILITIES) -> bytes:
    """The first packet."""
    return packet(
        0,
        b"\x0a"
        + version.encode()
        + b"\0"
        + struct.pack("<I", 7)
        + b"saltsalt\0"
        + struct.pack("<HBHHB", capabilities & 0xFFFF, 45, AUTOCOMMIT, capabilities >> 16, 21)
        + bytes(10)
        + b"moresaltmore\0"
        + b"mysql_native_password\0",
    )


def obliging(command: int, payload: bytes) -> Answer:
    """Answers every statement with an OK, and a SELECT or SHOW with no row."""
    if command == QUERY and payload.split(None, 1)[0].upper() in (b"SELECT", b"SHOW"):
        return result([])
    return ok()


@functools.cache
def tls_of_server() -> ssl.SSLContext:
    """What a server encrypts with; nobody knows its authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        files = certificates.make(Path(folder), "localhost")
        context.load_cert_chain(files.cert, files.key)
    return context


class ScriptedServer:
    """`heard` holds all commands, with their payloads; `logins` counts those that were let in. With
    `encrypts`, it takes encrypted connections.

    `pause_seconds` lie between two pieces of an answer.
    """

    def __init__(
        self,
        respond: Respond = obliging,
        *,
        version: str = VERSIONS["mysql"],
        capabilities: int = CAPABILITIES,
        encrypts: bool = False,
    ) -> None:
        self.heard: list[tuple[int, bytes]] = []
        self.encrypts = encrypts
        self.first = greeting(version, capabilities | SSL * encrypts)
        self.login_answers: Answer = ok(sequence=2 + encrypts)
        self.logins = 0
        self.respond = respond
        self.pause_seconds = 0.0
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def target(self) -> Target:
        mode: SslMode = "required" if self.encrypts else "disabled"
        return Target(host="127.0.0.1", port=self.port, user="app", ssl_mode=mode)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["ScriptedServer"]:
        """Serves until the block is left. Raises TimeoutError in a block that waits for ever."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                yield self
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._run_interactive(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _run_interactive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(self.first)
        login = await _payload(reader)
        if len(login) == SSL_REQUEST_BYTES:
            await _encrypt(reader, writer)
            await _payload(reader)
        self.logins += 1
        await self._send(writer, self.login_answers)
        while True:
            payload = await _payload(reader)
            command = payload[0] if payload else END_OF_FILE
            self.heard.append((command, payload[1:]))
            if command == QUIT:
                return
            await self._send(writer, self.respond(command, payload[1:]))

    async def _send(self, writer: asyncio.StreamWriter, answer: Answer) -> None:
        if answer is None:
            return
        for piece in (answer,) if isinstance(answer, bytes) else answer:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(self.pause_seconds)


async def _encrypt(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Shakes hands with a client, whose first words may be in the reader already."""
    received: bytearray = reader._buffer  # type: ignore[attr-defined]
    heard, plain = bytes(received), cast(asyncio.Transport, writer.transport)
    received.clear()
    shaking = asyncio.create_task(writer.start_tls(tls_of_server()))
    for _ in ("the protocol is set", "it is told of its connection"):
        await asyncio.sleep(0)
    feed(plain.get_protocol(), heard)
    await shaking


async def _payload(reader: asyncio.StreamReader) -> bytes:
    header = await reader.readexactly(4)
    return await reader.readexactly(int.from_bytes(header[:3], "little"))


def endless_rows() -> Iterator[bytes]:
    """The answer to a SELECT whose rows never end."""
    row = b"\x64" + b"x" * 100
    head = result([])[:-11]
    yield head
    sequence = head.count(b"\x03def") + 2
    while True:
        block = b"".join(packet(sequence + number, row) for number in range(256))
        yield block
