"""One line into the session: what may be said on it, and how what is sent leaves without anybody waiting."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import msgspec

from tuibench.deadline import in_time
from tuibench.errors import TuibenchError
from tuibench.files import UNREADABLE
from tuibench.model.command import Command, WatchActivity
from tuibench.model.message import READ_ONLY, Answer, Downward, Join, Submit, Upward
from tuibench.session.outbox import Outbox, line_of

MOST_AT_ONCE = 32
"""Commands of one line that may be under way; more are refused."""

_decoder = msgspec.json.Decoder(Upward)
_Submit = Callable[[Command], Awaitable[str]]


class _Numbered(msgspec.Struct):
    """What can be known of a line that is no command: which answer it waits for."""

    id: int = 0


class Viewer:
    """Somebody connected: a caller at first, a viewer once it has joined."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._outbox = Outbox()
        self._read_only = False
        self._filled = asyncio.Event()
        self._emptied = asyncio.Event()
        self._emptied.set()
        self._sending = asyncio.create_task(self._send(), name="viewer's line")

    def send(self, message: Downward) -> None:
        self.send_line(message, line_of(message))

    def send_line(self, message: Downward, line: bytes) -> None:
        """Queues a message; never waits for the viewer. One that has stopped reading is dropped at last."""
        if self._writer.is_closing():
            return
        self._outbox.put(message, line)
        self._emptied.clear()
        self._filled.set()
        if self._outbox.is_overfull:
            self._writer.transport.abort()

    async def converse(self, submit: _Submit, join: Callable[[Join], None]) -> None:
        """Answers until the other end leaves. A line that is no command is told so, and passed over."""
        running: set[asyncio.Task[None]] = set()
        while (line := await self._line()) is not None:
            match self._request(line):
                case Submit(id=number) if len(running) >= MOST_AT_ONCE:
                    self.send(Answer(id=number, ok=False, text=f"{MOST_AT_ONCE} commands wait already"))
                case Submit(id=number, command=command) if self._read_only and steers(command):
                    self.send(Answer(id=number, ok=False, text=READ_ONLY))
                case Submit() as request:
                    task = asyncio.create_task(self._answer(request, submit))
                    running.add(task)
                    task.add_done_callback(running.discard)
                case Join() as request:
                    self._read_only |= request.read_only
                    join(request)
                case None:
                    continue

    async def flush(self) -> None:
        """Waits until everything sent has left."""
        with contextlib.suppress(ConnectionError):
            await self._emptied.wait()
            self._writer.transport.set_write_buffer_limits(0)
            await self._writer.drain()

    def drop(self) -> None:
        self._sending.cancel()
        self._writer.close()

    async def _line(self) -> bytes | None:
        """The next line; None at the end, or after a line that is too long to be one."""
        try:
            return await self._reader.readline() or None
        except ConnectionError:
            return None
        except ValueError:
            self.send(Answer(id=0, ok=False, text="this line is too long for a command"))
            with contextlib.suppress(TimeoutError):
                await in_time(self.flush(), 1)
            return None

    def _request(self, line: bytes) -> Upward | None:
        try:
            request: Upward = _decoder.decode(line)
        except UNREADABLE as error:
            self.send(Answer(id=_number_of(line), ok=False, text=f"not a command: {error}"))
            return None
        return request

    async def _answer(self, request: Submit, submit: _Submit) -> None:
        try:
            self.send(Answer(id=request.id, ok=True, text=await submit(request.command)))
        except TuibenchError as error:
            self.send(Answer(id=request.id, ok=False, text=str(error)))
        except Exception as error:
            self.send(Answer(id=request.id, ok=False, text=f"a mistake of tuibench: {error!r}"))
            raise

    async def _send(self) -> None:
        """Writes as fast as the other end reads, until it is gone."""
        try:
            while not self._writer.is_closing():
                if (line := self._outbox.take()) is None:
                    self._emptied.set()
                    self._filled.clear()
                    await self._filled.wait()
                else:
                    self._writer.write(line)
                    await self._writer.drain()
        except ConnectionError:
            return
        finally:
            self._emptied.set()


def steers(command: Command) -> bool:
    """True for all that does more than look."""
    return not isinstance(command, WatchActivity)


def _number_of(line: bytes) -> int:
    try:
        return msgspec.json.decode(line, type=_Numbered).id
    except UNREADABLE:
        return 0
