"""Statements and responses of one connection in sequence, without a task switch: the hot path.

A script is a generator (see `load.asyncio_engine`): it yields a packet, and gets the number of affected rows
from within the callback that receives the last byte of the response; so the next packet is sent immediately.
Rows are not read, unless the script yields its packet as a `CaptureResponse`: then it gets the response
itself, for `rows` to read. The driver logs in and does everything else; its protocol gets all bytes for which
no script waits.

    run ──> script ──packet──> server
               ^                  │
               └──affected────────┘ data_received, parser

A script that has nothing to send yields None, and continues when it is woken. To wait for something else,
such as a back-off, it yields a function that returns an awaitable: `run` returns it to its caller, which then
continues the script with the result.

Responses that arrive in one piece and have rows of equal width are parsed by a fast path (`try_parse`). It is
much faster than `packets.ResponseParser`, which reads all other responses and gives the same results. It
checks the header of every packet, so that bytes within a row are not taken for the end. The bytes around a
single row, its columns and the end, are usually the same as in the previous response. They are cached as a
frame, once for all connections of a process, and compared as a whole.
"""

import asyncio
import os
import struct
from collections.abc import Awaitable, Callable, Generator
from typing import Any, NamedTuple

import msgspec

from tuibench.base.errors import ConnectionLostError, ProtocolError, SQLError
from tuibench.base.units import binary_size as data_text
from tuibench.mysql.packets import MAX_PAYLOAD_BYTES, CachingParser, ResponseParser, shared_cache
from tuibench.mysql.transport import CompressedTransport, feed

OK, NULL, EOF, ERR = 0x00, 0xFB, 0xFE, 0xFF
HEADER_BYTES = 4
LENGTH_MASK = 0xFFFFFF
MORE_RESULTS = 0x0008
MIN_RESPONSE_BYTES = 11
END_BYTES = 11
"""Length of the OK that ends a result, with its header: EOF's mark, two zeros, status, warnings."""

END_LENGTH = END_BYTES - HEADER_BYTES
MAX_ROWS = 4096
SEQUENCES = bytes(range(256)) * (MAX_ROWS // 256 + 1)

MAX_FRAMES = 1024
KEY_BYTES = 48
"""The frame of a response is found by this many bytes: number of columns, the first one's table, often its
name.
"""

KEY_BYTES_WITHOUT_COLUMNS = 6
"""The same if MariaDB omits the columns: their number, and the zero that says so."""

_unpack_start = struct.Struct("<IBBBB").unpack_from
_unpack_end = struct.Struct("<IBHH").unpack_from
_unpack_header = struct.Struct("<I").unpack_from
_unpack_row = struct.Struct("<IB").unpack_from


class _RowFrame(NamedTuple):
    """What does not change in the responses of a statement with one row."""

    before: bytes
    """The bytes before the row."""
    behind: bytes
    """The bytes after the row."""
    place: int
    """The position of the row."""
    least: int
    """The minimum length of the response."""
    besides: int
    """The row's header minus the response's length."""


_frames: dict[bytes, _RowFrame] = {}
"""The frames of results with one row, by their key."""


def try_parse(data: bytes) -> int | None:
    """The affected or returned rows, if this is a complete response of a known form; otherwise None.

    Results are those of a server that omits EOFs (DEPRECATE_EOF).
    """
    size = len(data)
    if size < MIN_RESPONSE_BYTES:
        return None
    if data[4] == OK:
        header, _, second, third, status = _unpack_start(data)
        is_plain = second < NULL and third < NULL and not status & MORE_RESULTS
        return second if is_plain and header == size - HEADER_BYTES | 1 << 24 else None
    key = data[:KEY_BYTES] if data[5] else data[:KEY_BYTES_WITHOUT_COLUMNS]
    if key in _frames:
        before, behind, place, least, besides = _frames[key]
        if size >= least and data.startswith(before) and data.endswith(behind):
            header, kind = _unpack_row(data, place)
            if header == size + besides and kind < EOF:
                return 1
    return _parse_result_set(data, key)


def _parse_result_set(data: bytes, key: bytes) -> int | None:
    """The rows of a result whose frame is not cached."""
    header, columns, second, *_ = _unpack_start(data)
    end = len(data) - END_BYTES
    last, mark, numbers, status = _unpack_end(data, end)
    if mark != EOF or numbers or status & MORE_RESULTS or last & LENGTH_MASK != END_LENGTH or columns >= NULL:
        return None
    if header >> 24 != 1:
        return None
    place, sequence = (header & LENGTH_MASK) + HEADER_BYTES, 2
    for _ in range(columns if second or place == HEADER_BYTES + 1 else 0):
        column = _unpack_header(data, place)[0] if place <= end else 0
        if column >> 24 != sequence:
            return None
        place += (column & LENGTH_MASK) + HEADER_BYTES
        sequence = sequence + 1 & 0xFF
    rows = _count_rows(data, place, end, sequence, last >> 24)
    if rows == 1:
        # Cache the frame of the single row, which begins at `place`.
        if len(_frames) >= MAX_FRAMES:
            _frames.clear()
        around = place + HEADER_BYTES + END_BYTES
        _frames[key] = _RowFrame(
            data[:place], data[-END_BYTES:], place, around + 1, besides=(sequence << 24) - around
        )
    return rows


def _count_rows(data: bytes, place: int, end: int, sequence: int, last: int) -> int | None:
    """The number of rows of one width that fill the bytes up to `end`, at which the packet has the sequence
    number `last`.
    """
    if place >= end:
        return 0 if place == end and sequence == last else None
    header, kind = _unpack_row(data, place)
    length = header & LENGTH_MASK
    rows, rest = divmod(end - place, length + HEADER_BYTES)
    if rest or not length or kind >= EOF or header >> 24 != sequence or (sequence + rows) & 0xFF != last:
        return None
    if rows == 1:
        return 1
    # True if all packets are rows of the first one's length, with consecutive sequence numbers.
    stride = (end - place) // rows
    kinds = data[place + HEADER_BYTES : end : stride]
    first = data[place + 3]
    are_alike = (
        rows <= MAX_ROWS
        and data[place:end:stride] == data[place : place + 1] * rows
        and data[place + 1 : end : stride] == data[place + 1 : place + 2] * rows
        and data[place + 2 : end : stride] == data[place + 2 : place + 3] * rows
        and data[place + 3 : end : stride] == SEQUENCES[first : first + rows]
        and EOF not in kinds
        and ERR not in kinds
    )
    return rows if are_alike else None


MOST_BYTES = 1 << 26
"""Maximum length of a response that is kept: a server could send rows without end."""


class ResponseCapture:
    """Collects one response for its reader; at its end, or after an error, calls `leave`."""

    __slots__ = ("_answer", "_leave", "_left", "_most", "_pieces")

    is_new = False
    """False, so that `feed` gets all received bytes."""

    def __init__(self, answer: CachingParser, leave: Callable[[], None], most_bytes: int) -> None:
        self._answer = answer
        self._leave = leave
        self._most = self._left = most_bytes
        self._pieces: list[bytes] = []

    def feed(self, data: bytes) -> bytes | None:
        """Adds received bytes; returns the whole response at its end. Raises as `ResponseParser.feed`."""
        self._pieces.append(data)
        self._left -= len(data)
        if self._left < 0:
            self._leave()
            raise ProtocolError(f"its response has more than {data_text(self._most)}")
        affected = try_parse(data) if self._answer.is_new else None
        if affected is None:
            try:
                affected = self._answer.feed(data)
            except SQLError:
                self._leave()
                raise
            if affected is None:
                return None
        self._leave()
        return b"".join(self._pieces)


class CaptureResponse(msgspec.Struct, frozen=True, gc=False):
    """A packet whose response is returned byte for byte."""

    packet: bytes
    most_bytes: int = 0
    """The maximum length of the response; 0 for `MOST_BYTES`."""


AsyncCall = Callable[[], Awaitable[Any]]
Request = bytes | CaptureResponse | AsyncCall | None
TransactionLoop = Generator[Request, Any, None]

MOST_UNREAD_BYTES = 1 << 26
"""Maximum number of unrequested bytes from a server before the connection is dropped."""

CR_SERVER_GONE_ERROR, CR_SERVER_LOST = 2006, 2013
SERVER_GONE_MESSAGE = "connection lost: the server has gone away"


class StatementProtocol(asyncio.Protocol):
    """Runs scripts over the transport of a logged-in connection of the driver.

    The rest of a response must arrive within `net_timeout_seconds` (0: no limit): if a bit of a length was
    flipped, the server has sent everything. The beginning of a response may take as long as its statement.
    """

    def __init__(self, raw: Any, where: str = "", net_timeout_seconds: float = 0.0) -> None:
        self._raw = raw
        self._where = where
        self._transport = raw.transport
        self._driver = raw.receiver
        self._answer: CachingParser | ResponseCapture
        manner = {"without_eof": raw.deprecates_eof, "is_numbered": not raw.is_compressed}
        self._answer = self._plain = CachingParser(ResponseParser(**manner), shared_cache(**manner))
        self._descriptor = _socket_descriptor(raw.transport)
        self._script: TransactionLoop = _empty_loop()
        self._ended: asyncio.Future[AsyncCall | None] | None = None
        self._is_waiting = False
        self._is_parked = False
        self._is_half = False
        self._heard_at = 0.0
        self._net_timeout_seconds = net_timeout_seconds
        self._timer: asyncio.TimerHandle | None = None
        self._transport.set_protocol(self)

    async def run(self, script: TransactionLoop, answer: Any = None) -> AsyncCall | None:
        """Continues a transaction loop with the `answer` to its request, or the error.

        Returns the function that the script yields; None at its end. Raises what the script raises. If it is
        cancelled while a response is outstanding, it drops the connection.
        """
        self._script = script
        self._ended = asyncio.get_running_loop().create_future()
        self._look_at_transport()
        self._go_on(script.throw if isinstance(answer, Exception) else script.send, answer)
        try:
            return await self._ended
        finally:
            self._is_parked = False
            if self._is_waiting:
                self._drop()

    def wake(self) -> None:
        """Resumes a script that yielded None; any other script waits for its own event."""
        if self._is_parked:
            self._is_parked = False
            self._look_at_transport()
            self._go_on(self._script.send, None)

    def _look_at_transport(self) -> None:
        """Determines the descriptor to write to. A closed descriptor, or one that is about to be closed, may
        be reused by another connection.
        """
        if self._transport.is_closing():
            self._descriptor = -1

    def data_received(self, data: bytes) -> None:
        """Passes bytes to the script that waits for a response, otherwise to the driver."""
        if not self._is_waiting:
            self._forward(data)
            return
        result: int | bytes | None = try_parse(data) if self._answer.is_new else None
        if result is None and (result := self._feed(data)) is None:
            return
        try:
            request = self._script.send(result)
        except StopIteration:
            self._end(None)
        except Exception as error:
            self._end_with(error)
        else:
            if type(request) is bytes:
                self._write(request)
            else:
                self._execute(request)

    def _feed(self, data: bytes) -> int | bytes | None:
        """Parses what the fast path does not recognise; None until the response is complete.

        Also returns None for an error, which the script has received.
        """
        try:
            result = self._answer.feed(data)
            self._is_half = result is None
            if self._is_half:
                self.expect_rest()
            return result
        except SQLError as error:
            self._is_half = False
            if isinstance(error, ConnectionLostError):
                self._drop()
            self._go_on(self._script.throw, error.at(self._where))
            return None

    def expect_rest(self) -> None:
        """Starts the time limit after a part of a response, or of its frame, has arrived."""
        loop = asyncio.get_running_loop()
        self._heard_at = loop.time()
        if self._timer is None and self._net_timeout_seconds:
            self._timer = loop.call_later(self._net_timeout_seconds, self._look_for_rest)

    def _look_for_rest(self) -> None:
        """Drops the connection if the rest of a response has not arrived in time."""
        self._timer = None
        has_partial = isinstance(self._transport, CompressedTransport) and self._transport.has_partial
        if not (self._is_waiting and (self._is_half or has_partial)):
            return
        loop = asyncio.get_running_loop()
        left_seconds = self._heard_at + self._net_timeout_seconds - loop.time()
        if left_seconds > 0:
            self._timer = loop.call_later(left_seconds, self._look_for_rest)
            return
        self._drop()
        words = f"the rest of a response has not come for {self._net_timeout_seconds:g} s"
        self._go_on(self._script.throw, ConnectionLostError(CR_SERVER_LOST, f"connection lost: {words}"))

    def _go_on(self, resume: Callable[[Any], Request], answer: Any) -> None:
        """Resumes the script with the answer, and sends immediately what it yields."""
        try:
            request = resume(answer)
        except StopIteration:
            self._end(None)
        except Exception as error:
            self._end_with(error)
        else:
            self._execute(request)

    def _execute(self, request: Request) -> None:
        """Executes a request of a script."""
        if isinstance(request, bytes):
            self._is_waiting = True
            self._write(request)
        elif request is None:
            self._is_waiting = False
            self._is_parked = True
        elif isinstance(request, CaptureResponse):
            most_bytes = request.most_bytes or MOST_BYTES
            self._answer = ResponseCapture(self._plain, self._stop_capturing, most_bytes)
            self._is_waiting = True
            self._write(request.packet)
        else:
            self._end(request)

    def _stop_capturing(self) -> None:
        self._answer = self._plain

    def _write(self, packet: bytes) -> None:
        """Writes to the socket directly, without the event loop's queue, if the connection is plain.

        The transport gets the bytes that the socket does not accept immediately, and all that follow.
        """
        if len(packet) > MAX_PAYLOAD_BYTES:
            self._plain.follow(packet)
        if self._descriptor >= 0:
            try:
                written = os.write(self._descriptor, packet)
            except OSError:
                written = 0
            if written == len(packet):
                return
            self._descriptor = -1
            packet = packet[written:]
        if self._transport.is_closing():
            self._go_on(self._script.throw, ConnectionLostError(CR_SERVER_GONE_ERROR, SERVER_GONE_MESSAGE))
        else:
            self._transport.write(packet)

    def _end(self, call: AsyncCall | None) -> None:
        self._is_waiting = False
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(call)

    def _end_with(self, error: Exception) -> None:
        self._is_waiting = False
        if self._ended is not None and not self._ended.done():
            self._ended.set_exception(error)

    def _drop(self) -> None:
        """Closes the connection, because a later response would have no request."""
        self._is_waiting = False
        self._raw.close_on_cancel()

    def eof_received(self) -> bool:
        return bool(self._driver.eof_received())

    def connection_lost(self, error: Exception | None) -> None:
        self._driver.connection_lost(error)
        if self._timer is not None:
            self._timer.cancel()
        if self._is_waiting:
            words = f"connection lost: {error or 'the server hung up'}"
            self._go_on(self._script.throw, ConnectionLostError(CR_SERVER_LOST, words))

    def pause_writing(self) -> None:
        self._driver.pause_writing()

    def resume_writing(self) -> None:
        self._driver.resume_writing()

    def _forward(self, data: bytes) -> None:
        """Passes bytes to the driver's protocol."""
        feed(self._driver, data)
        if self._driver.length - self._driver.pos > MOST_UNREAD_BYTES:
            self._drop()


def _empty_loop() -> TransactionLoop:
    """A script without statements."""
    yield from ()


def _socket_descriptor(transport: Any) -> int:
    """The file descriptor of a plain socket; -1 if bytes must be encrypted or compressed."""
    sock, is_packed = transport.get_extra_info("socket"), isinstance(transport, CompressedTransport)
    if sock is None or is_packed or transport.get_extra_info("cipher") is not None:
        return -1
    return int(sock.fileno())
