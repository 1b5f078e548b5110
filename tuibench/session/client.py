"""Client of a session: messages and replies on its Unix socket, and the process at the other end."""

import asyncio
import os
import socket
import struct
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from tuibench import __version__
from tuibench.base.errors import SessionUnreachableError
from tuibench.base.files import DECODE_ERRORS
from tuibench.base.unix_sockets import connect_unix
from tuibench.model.message import (
    MOST_SAMPLES,
    PROTOCOL_VERSION,
    Command,
    CommandReply,
    Hello,
    JoinSession,
    SessionMessage,
    SessionUpdate,
    SubmitCommand,
    ViewerMessage,
)

_UCRED = struct.Struct("3i")
"""Linux: pid, uid, gid."""

_XUCRED = struct.Struct("=IIh2x16I")
"""macOS and the BSDs: version, uid, number of groups, groups."""

SOL_LOCAL, LOCAL_PEERCRED, LOCAL_PEERPID = 0, 1, 2
"""macOS's numbers; Python has names for some of them only."""


class Peer(NamedTuple):
    """A process and its user; the pid is 0 if the system does not report it."""

    pid: int
    uid: int

    @property
    def is_welcome(self) -> bool:
        """True for this user, and for root, which could read the session's memory anyway."""
        return self.uid in (os.getuid(), 0)


def peer_of(sock: socket.socket) -> Peer:
    """The peer of a connected Unix socket. Raises OSError if the system does not report it."""
    if hasattr(socket, "SO_PEERCRED"):
        pid, uid, _ = _UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
        return Peer(pid, uid)
    _, uid, *_ = _XUCRED.unpack(sock.getsockopt(SOL_LOCAL, LOCAL_PEERCRED, _XUCRED.size))
    return Peer(_pid_of(sock), uid)


def _pid_of(sock: socket.socket) -> int:
    """The pid, if the system reports it apart from the user; it serves only to attribute processor time."""
    try:
        return sock.getsockopt(SOL_LOCAL, LOCAL_PEERPID)
    except OSError:
        return 0


LONGEST_LINE_BYTES = 1 << 26
"""Enough for a Hello with the history of a long run."""

CONNECT_TIMEOUT_SECONDS = 10.0
"""A session that sends no Hello within this time is stopped, or hangs."""

T = TypeVar("T")


class VersionMismatchError(SessionUnreachableError):
    """The session has another version of the program, which is needed to control it."""


class _Opening(msgspec.Struct, tag="hello"):
    """The part of a Hello that every version understands."""

    protocol: int
    version: str = "unknown version"


class SessionClient:
    """A connection to one session."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, hello: Hello) -> None:
        self.hello = hello
        self._reader = reader
        self._writer = writer
        self._news: asyncio.Queue[SessionUpdate | None] = asyncio.Queue()
        self._answers: dict[int, asyncio.Future[CommandReply]] = {}
        self._joined: asyncio.Future[Hello] = asyncio.get_running_loop().create_future()
        self._last_id = 0
        self._reading = asyncio.create_task(self._read(), name="session client")

    @classmethod
    async def connect(cls, path: Path, timeout_seconds: float = CONNECT_TIMEOUT_SECONDS) -> "SessionClient":
        """Connects to a session by its socket. Raises SessionUnreachableError if it does not answer."""
        try:
            reader, writer = await asyncio.open_unix_connection(
                sock=connect_unix(path), limit=LONGEST_LINE_BYTES
            )
        except OSError as error:
            raise SessionUnreachableError(
                f"no session answers at {path}: {error.strerror or os.strerror(error.errno or 0)}",
                "it may have ended",
            ) from error
        try:
            first = await within_timeout(reader.readline(), path, timeout_seconds)
            return cls(reader, writer, _parse_hello(first, path))
        except BaseException:
            writer.close()
            raise

    @classmethod
    async def join(
        cls, path: Path, samples: int = MOST_SAMPLES, *, read_only: bool = False
    ) -> "SessionClient":
        """Become a viewer: `messages` then returns all further messages.

        The session refuses commands that change something from a `read_only` viewer.
        """
        client = await cls.connect(path)
        client._write(JoinSession(samples=samples, read_only=read_only))
        try:
            client.hello = await within_timeout(client._joined, path, CONNECT_TIMEOUT_SECONDS)
        except BaseException:
            await client.close()
            raise
        return client

    async def messages(self) -> AsyncIterator[SessionUpdate]:
        """The messages of the session until it closes the connection; `SessionEnded` is the last one of an
        orderly end.
        """
        while (news := await self._news.get()) is not None:
            yield news

    async def submit(self, command: Command) -> CommandReply:
        """Send a command and wait for the reply.

        Raises SessionUnreachableError if the session ends before it replies.
        """
        self._last_id += 1
        answer: asyncio.Future[CommandReply] = asyncio.get_running_loop().create_future()
        self._answers[self._last_id] = answer
        if self._reading.done():
            self._abandon_answers()
        else:
            self._write(SubmitCommand(id=self._last_id, command=command))
        return await answer

    async def close(self) -> None:
        """Disconnects; the session continues."""
        self._reading.cancel()
        self._joined.cancel()
        self._writer.close()

    def _write(self, message: ViewerMessage) -> None:
        self._writer.write(msgspec.json.encode(message) + b"\n")

    async def _read(self) -> None:
        try:
            while line := await self._reader.readline():
                match _decoded(line):
                    case CommandReply() as answer:
                        if (waiting := self._answers.pop(answer.id, None)) and not waiting.done():
                            waiting.set_result(answer)
                    case Hello() as hello:
                        if not self._joined.done():
                            self._joined.set_result(hello)
                    case None:
                        continue
                    case news:
                        self._news.put_nowait(news)
        except (ConnectionError, ValueError):
            return
        finally:
            self._abandon_answers()
            if not self._joined.done():
                self._joined.set_exception(
                    SessionUnreachableError("the session ended before the viewer could join")
                )
                self._joined.exception()
            self._news.put_nowait(None)

    def _abandon_answers(self) -> None:
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(SessionUnreachableError("the session ended before it answered"))
        self._answers.clear()


async def within_timeout(answer: Awaitable[T], path: Path, seconds: float) -> T:
    """The session's reply. Raises SessionUnreachableError if it takes too long."""
    try:
        async with asyncio.timeout(seconds):
            return await answer
    except TimeoutError as error:
        raise SessionUnreachableError(
            f"the session at {path} does not answer", "its process is stopped, or hangs"
        ) from error
    except ConnectionError as error:
        raise _hung_up(path) from error


def _parse_hello(line: bytes, path: Path) -> Hello:
    """The session's first line. Raises SessionUnreachableError if it is not that of a tuibench session."""
    if not line:
        raise _hung_up(path)
    try:
        opening = msgspec.json.decode(line, type=_Opening)
    except DECODE_ERRORS as error:
        raise VersionMismatchError(
            f"the process that listens at {path} is not a session of this tuibench version",
            "use the one it was started with",
        ) from error
    hello = _decoded(line) if opening.protocol == PROTOCOL_VERSION else None
    if not isinstance(hello, Hello):
        raise VersionMismatchError(
            f"the session at {path} is of tuibench {opening.version}, protocol {opening.protocol}; "
            f"this is {__version__}, protocol {PROTOCOL_VERSION}",
            "use the one it was started with",
        )
    return hello


def _hung_up(path: Path) -> SessionUnreachableError:
    return SessionUnreachableError(f"the session at {path} closed the connection", "it may have ended")


def _decoded(line: bytes) -> SessionMessage | None:
    """A message of the session; None for an invalid line."""
    try:
        message: SessionMessage = msgspec.json.decode(line, type=SessionMessage)
    except DECODE_ERRORS:
        return None
    return message
