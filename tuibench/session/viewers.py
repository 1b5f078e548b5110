"""One viewer's line, seen from the session: what it may send, and what becomes of one that does not read."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec

from tuibench.errors import TuibenchError
from tuibench.model.command import Command
from tuibench.model.message import Answer, Downward, Upward

BACKLOG_LIMIT_BYTES = 1 << 24
"""A viewer that leaves so much unread is dropped: it has stopped reading, and may come back."""

_UCRED = struct.Struct("3i")
_decoder = msgspec.json.Decoder(Upward)


class Peer(NamedTuple):
    """Who is at the other end; the process is 0 where the system does not tell."""

    pid: int
    uid: int


def peer_of(writer: asyncio.StreamWriter) -> Peer:
    """The process and user behind a connection. Elsewhere than on Linux, the folder's mode 0700 has to do."""
    sock = writer.get_extra_info("socket")
    if not hasattr(socket, "SO_PEERCRED"):
        return Peer(0, 0)
    pid, uid, _ = _UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
    return Peer(pid, uid)


class Viewer:
    """A connected viewer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def send(self, message: Downward) -> None:
        self.send_line(msgspec.json.encode(message) + b"\n")

    def send_line(self, line: bytes) -> None:
        """Queues a line; never waits for the viewer."""
        if self._writer.transport.get_write_buffer_size() > BACKLOG_LIMIT_BYTES:
            self._writer.transport.abort()
        elif not self._writer.is_closing():
            self._writer.write(line)

    async def converse(self, submit: Callable[[Command], Awaitable[str]]) -> None:
        """Answers the viewer's commands until it leaves, or sends what is no command."""
        running: set[asyncio.Task[None]] = set()
        try:
            while line := await self._reader.readline():
                request = _decoder.decode(line)
                task = asyncio.create_task(self._answer(request, submit))
                running.add(task)
                task.add_done_callback(running.discard)
        except msgspec.MsgspecError as error:
            self.send(Answer(id=0, ok=False, text=f"not a command: {error}"))
        except (ValueError, ConnectionError):
            return

    async def flush(self) -> None:
        """Waits until everything sent has left."""
        with contextlib.suppress(ConnectionError):
            self._writer.transport.set_write_buffer_limits(0)
            await self._writer.drain()

    def drop(self) -> None:
        self._writer.close()

    async def _answer(self, request: Upward, submit: Callable[[Command], Awaitable[str]]) -> None:
        try:
            self.send(Answer(id=request.id, ok=True, text=await submit(request.command)))
        except TuibenchError as error:
            self.send(Answer(id=request.id, ok=False, text=str(error)))
        except Exception as error:
            self.send(Answer(id=request.id, ok=False, text=f"a mistake of tuibench: {error!r}"))
            raise
