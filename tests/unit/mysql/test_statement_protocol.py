"""The statement protocol: preparing and executing."""

import asyncio
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from asyncmy.errors import OperationalError, ProgrammingError

from tests.unit.mysql.server_packets import err, ok, result, text_row
from tuibench.base.errors import ConnectionLostError, SQLError
from tuibench.mysql.packets import MAX_PAYLOAD_BYTES, PreparedHandle, prepare_statements, text_packet
from tuibench.mysql.statements import CaptureResponse, StatementProtocol, TransactionLoop

# Scripts played over a connection, on a transport that only notes what is written.


FIRST, SECOND, THIRD = b"first packet", b"second packet", b"third packet"


class Driver(asyncio.BufferedProtocol):
    """The driver's protocol: it keeps what it is given, a few bytes at a time."""

    def __init__(self) -> None:
        self.taken = b""
        self.length = self.pos = 0
        self.events: list[str] = []
        self._room = bytearray(8)

    def get_buffer(self, wanted: int) -> memoryview:
        return memoryview(self._room)

    def buffer_updated(self, count: int) -> None:
        self.taken += self._room[:count]

    def eof_received(self) -> bool:
        self.events.append("end of file")
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self.events.append("lost")

    def pause_writing(self) -> None:
        self.events.append("pause")

    def resume_writing(self) -> None:
        self.events.append("resume")


class Transport:
    def __init__(self, sock: socket.socket | None) -> None:
        self.written: list[bytes] = []
        self.protocol: Any = None
        self.closing = False
        self._sock = sock

    def set_protocol(self, protocol: Any) -> None:
        self.protocol = protocol

    def get_extra_info(self, name: str) -> Any:
        return self._sock if name == "socket" else None

    def is_closing(self) -> bool:
        return self.closing

    def write(self, data: bytes) -> None:
        self.written.append(data)


class Raw:
    """A connection of the driver."""

    deprecates_eof = True
    is_compressed = False

    def __init__(self, sock: socket.socket | None = None) -> None:
        self.transport = Transport(sock)
        self.receiver = Driver()

    def close_on_cancel(self) -> None:
        self.transport.closing = True


class Played:
    """A script that sends packets, and what it was told."""

    def __init__(self, *says: Any) -> None:
        self.told: list[Any] = []
        self._says = says

    def script(self) -> TransactionLoop:
        for said in self._says:
            try:
                self.told.append((yield said))
            except SQLError as error:
                self.told.append(error.code)


@pytest.fixture
def raw() -> Raw:
    return Raw()


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    with ours, theirs:
        yield ours, theirs


async def begun(
    protocol: StatementProtocol, script: TransactionLoop, answer: Any = None
) -> "asyncio.Task[Any]":
    task = asyncio.create_task(protocol.run(script, answer))
    await asyncio.sleep(0)
    return task


async def test_the_next_statement_leaves_with_the_last_byte_of_the_answer(raw: Raw) -> None:
    protocol, played = StatementProtocol(raw), Played(FIRST, SECOND)
    task = await begun(protocol, played.script())
    assert raw.transport.written == [FIRST]
    whole = result([text_row(119)] * 3)
    protocol.data_received(whole[:-1])
    assert raw.transport.written == [FIRST]
    protocol.data_received(whole[-1:])
    assert (raw.transport.written, played.told) == ([FIRST, SECOND], [3])
    protocol.data_received(ok(1))
    assert await task is None
    assert played.told == [3, 1]


LARGE = text_packet("x" * (2 * MAX_PAYLOAD_BYTES), "utf8")


@pytest.mark.parametrize("statement", [LARGE, CaptureResponse(LARGE)], ids=["counted", "captured"])
@pytest.mark.parametrize("is_numbered", [True, False])
async def test_the_answer_to_several_packets_follows_the_last_of_them(
    raw: Raw, statement: Any, is_numbered: bool
) -> None:
    raw.is_compressed = not is_numbered
    protocol, played = StatementProtocol(raw), Played(statement, FIRST, FIRST)
    task = await begun(protocol, played.script())
    answers = [ok(7, sequence=3), ok(2), ok(5, sequence=3 if is_numbered else 1)]
    for answer in answers:
        protocol.data_received(answer)
    await task
    captured = isinstance(statement, CaptureResponse)
    assert played.told == [answers[0] if captured else 7, 2, 2014 if is_numbered else 5]


@pytest.mark.parametrize(
    "malformed", [b"\x01\0\0\x01\0", b"\x01\0\0\x01\xff", b"\x09\0\0\x01\xfe" + b"\xff" * 8]
)
@pytest.mark.parametrize("first", [FIRST, CaptureResponse(FIRST)], ids=["counted", "whole"])
async def test_what_is_no_answer_is_the_scripts_error_and_drops_the_connection(
    raw: Raw, malformed: bytes, first: bytes | CaptureResponse
) -> None:
    """An exception in a protocol's callback would be the event loop's, and nobody would hear of it."""
    protocol, played = StatementProtocol(raw, "db:3306"), Played(first)
    task = await begun(protocol, played.script())
    protocol.data_received(malformed)
    await task
    assert played.told == [2014]
    assert raw.transport.closing


@pytest.mark.parametrize(
    "whole",
    [result([text_row(119)] * 3), result([text_row(9), text_row(7)]), ok(4), result([], cached=True)],
)
async def test_an_answer_is_handed_over_whole_to_who_wants_it(raw: Raw, whole: bytes) -> None:
    protocol, played = StatementProtocol(raw), Played(CaptureResponse(FIRST), CaptureResponse(SECOND), THIRD)
    task = await begun(protocol, played.script())
    protocol.data_received(whole)
    assert raw.transport.written == [FIRST, SECOND]
    for at in range(len(whole)):
        assert raw.transport.written == [FIRST, SECOND]
        protocol.data_received(whole[at : at + 1])
    assert raw.transport.written == [FIRST, SECOND, THIRD]
    protocol.data_received(ok(5))
    assert await task is None
    assert played.told == [whole, whole, 5]


async def test_a_result_that_is_wanted_whole_may_break_off_with_an_error(raw: Raw) -> None:
    protocol, played = StatementProtocol(raw), Played(CaptureResponse(FIRST), SECOND, CaptureResponse(THIRD))
    task = await begun(protocol, played.script())
    whole = result([text_row(9)] * 3)
    protocol.data_received(whole[:-11])
    protocol.data_received(err(1317, "interrupted", sequence=6))
    protocol.data_received(ok(1))
    protocol.data_received(whole)
    assert await task is None
    assert played.told == [1317, 1, whole]


async def test_a_connection_lost_in_a_captured_response_raises_in_the_script(raw: Raw) -> None:
    protocol, played = StatementProtocol(raw), Played(CaptureResponse(FIRST))
    task = await begun(protocol, played.script())
    protocol.data_received(result([text_row(9)] * 3)[:-5])
    protocol.connection_lost(None)
    assert await task is None
    assert played.told == [2013]


async def test_an_error_is_thrown_in_where_the_statement_was_said(raw: Raw) -> None:
    protocol, played = StatementProtocol(raw), Played(FIRST, SECOND)
    task = await begun(protocol, played.script())
    protocol.data_received(err(1213, "deadlock"))
    assert raw.transport.written == [FIRST, SECOND]
    protocol.data_received(ok(1))
    assert await task is None
    assert played.told == [1213, 1]


async def test_what_a_script_raises_is_raised_to_its_player(raw: Raw) -> None:
    def script() -> TransactionLoop:
        yield FIRST

    protocol = StatementProtocol(raw)
    task = await begun(protocol, script())
    protocol.data_received(err(1062, "duplicate"))
    with pytest.raises(SQLError, match="duplicate"):
        await task
    again = Played(SECOND)
    task = await begun(protocol, again.script())
    protocol.data_received(ok(4))
    assert (await task, again.told) == (None, [4])


async def test_a_wish_is_handed_out_and_its_answer_taken_back(raw: Raw) -> None:
    async def wish() -> str:
        return "granted"

    protocol, played = StatementProtocol(raw), Played(FIRST, wish, wish, SECOND)
    script = played.script()
    task = await begun(protocol, script)
    protocol.data_received(ok(1))
    assert await task is wish
    assert await protocol.run(script, "granted") is wish
    task = await begun(protocol, script, SQLError(1205, "lock wait"))
    protocol.data_received(ok(2))
    assert await task is None
    assert played.told == [1, "granted", 1205, 2]


async def test_a_script_without_a_word_goes_on_when_it_is_woken(raw: Raw) -> None:
    protocol, played = StatementProtocol(raw), Played(None, FIRST, None, SECOND)
    task = await begun(protocol, played.script())
    assert (raw.transport.written, task.done()) == ([], False)
    protocol.wake()
    protocol.wake()
    assert raw.transport.written == [FIRST]
    protocol.data_received(ok(1))
    protocol.data_received(b"for the driver")
    assert (raw.transport.written, raw.receiver.taken) == ([FIRST], b"for the driver")
    protocol.wake()
    protocol.data_received(ok(2))
    assert await task is None
    assert played.told == [None, 1, None, 2]


async def test_a_silent_script_that_is_cancelled_is_not_woken(raw: Raw) -> None:
    protocol = StatementProtocol(raw)
    task = await begun(protocol, Played(None, FIRST).script())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    protocol.wake()
    assert (raw.transport.written, raw.transport.closing) == ([], False)


async def test_a_connection_closed_while_idle_fails_the_next_statement(raw: Raw) -> None:
    protocol, played = StatementProtocol(raw), Played(None, FIRST)
    task = await begun(protocol, played.script())
    raw.transport.closing = True
    protocol.connection_lost(None)
    protocol.wake()
    assert await task is None
    assert (played.told, raw.transport.written) == ([None, 2006], [])


async def test_bytes_that_no_script_waits_for_are_the_drivers(raw: Raw) -> None:
    protocol = StatementProtocol(raw)
    protocol.data_received(b"a greeting longer than the room")
    task = await begun(protocol, Played(FIRST).script())
    protocol.data_received(ok(1))
    await task
    protocol.data_received(b", and a word")
    assert raw.receiver.taken == b"a greeting longer than the room, and a word"


async def test_the_driver_hears_of_the_connection(raw: Raw) -> None:
    protocol = StatementProtocol(raw)
    protocol.pause_writing()
    protocol.resume_writing()
    assert protocol.eof_received() is False
    protocol.connection_lost(None)
    assert raw.receiver.events == ["pause", "resume", "end of file", "lost"]


async def test_a_connection_lost_before_the_answer_is_an_error_of_the_statement(raw: Raw) -> None:
    protocol, played = StatementProtocol(raw), Played(FIRST)
    task = await begun(protocol, played.script())
    protocol.data_received(ok(1)[:5])
    protocol.connection_lost(ConnectionResetError("reset by peer"))
    assert await task is None
    assert (played.told, raw.receiver.events) == ([2013], ["lost"])


async def test_a_closed_connection_fails_the_first_statement(raw: Raw) -> None:
    protocol, played = StatementProtocol(raw), Played(FIRST)
    raw.transport.closing = True
    assert await protocol.run(played.script()) is None
    assert (played.told, raw.transport.written) == ([2006], [])


async def test_what_is_no_answer_closes_the_connection(raw: Raw) -> None:
    protocol, played = StatementProtocol(raw), Played(FIRST, SECOND)
    task = await begun(protocol, played.script())
    protocol.data_received(ok(sequence=9))
    assert await task is None
    assert (played.told, raw.transport.closing) == ([2014, 2006], True)


async def test_a_statement_cut_off_closes_the_connection(raw: Raw) -> None:
    protocol, played = StatementProtocol(raw), Played(FIRST, SECOND)
    script = played.script()
    task = await begun(protocol, script)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert raw.transport.closing
    protocol.data_received(ok(1))
    assert (played.told, raw.transport.written) == ([], [FIRST])
    script.close()


async def test_a_player_cancelled_between_statements_leaves_the_connection_open(raw: Raw) -> None:
    protocol = StatementProtocol(raw)
    task = await begun(protocol, Played(FIRST).script())
    protocol.data_received(ok(1))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not raw.transport.closing


async def test_a_plain_socket_is_written_to_at_once(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    raw = Raw(ours)
    protocol = StatementProtocol(raw)
    task = await begun(protocol, Played(FIRST).script())
    assert theirs.recv(100) == FIRST
    protocol.data_received(ok(1))
    await task
    assert raw.transport.written == []


async def test_what_a_socket_does_not_take_is_left_to_the_transport(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = pair
    raw = Raw(ours)
    protocol = StatementProtocol(raw)
    large = os.urandom(1 << 22)
    task = await begun(protocol, Played(large, SECOND).script())
    taken = b""
    while len(taken) + len(raw.transport.written[0]) < len(large):
        taken += theirs.recv(1 << 20)
    assert taken + raw.transport.written[0] == large
    protocol.data_received(ok(1))
    assert raw.transport.written[1:] == [SECOND]
    protocol.data_received(ok(1))
    await task


async def test_a_socket_that_is_gone_is_left_to_the_transport(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = pair
    raw = Raw(ours)
    theirs.close()
    protocol, played = StatementProtocol(raw), Played(FIRST)
    task = await begun(protocol, played.script())
    assert raw.transport.written == [FIRST]
    protocol.connection_lost(BrokenPipeError())
    assert (await task, played.told) == (None, [2013])


async def test_an_error_of_the_connection_is_a_lost_connection(raw: Raw) -> None:
    protocol = StatementProtocol(raw)

    def script() -> TransactionLoop:
        yield FIRST

    task = await begun(protocol, script())
    protocol.data_received(err(1927, "Connection was killed", sequence=0))
    with pytest.raises(ConnectionLostError, match="killed"):
        await task


# Many statements prepared in one go: each answer finds its statement, and a refusal costs no other.


DEFINITION = b"a definition"


class Packet:
    """A packet as the driver gives it."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def get_all_data(self) -> bytes:
        return self._body

    def read_uint8(self) -> int:
        return self._take(1)

    def read_uint16(self) -> int:
        return self._take(2)

    def read_uint32(self) -> int:
        return self._take(4)

    def _take(self, size: int) -> int:
        taken, self._body = self._body[:size], self._body[size:]
        return int.from_bytes(taken, "little")


class Wire:
    """The driver's connection, with answers written down before. `starts` are the expected sequences."""

    statement_encoding = "utf8"

    def __init__(self, *answers: bytes | Exception, without_eof: bool) -> None:
        self.deprecates_eof = without_eof
        self._next_packet = 0
        self.sent = b""
        self.answers = list(answers)

    def write_bytes(self, data: bytes) -> None:
        self.sent += data

    def expect_response(self, packets: int) -> None:
        self._next_packet = packets

    def read_limit(self, max_bytes: int) -> AbstractContextManager[None]:
        return nullcontext()

    async def read_packet(self) -> Any:
        await asyncio.sleep(0)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        assert self._next_packet == 1 or answer == DEFINITION
        self._next_packet += 1
        return Packet(answer)


def head(identity: int, columns: int, parameters: int) -> bytes:
    return struct.pack("<BIHHBH", 0, identity, columns, parameters, 0, 0)


@pytest.mark.parametrize(("without_eof", "more"), [(True, 0), (False, 1)])
async def test_each_answer_finds_its_statement(without_eof: bool, more: int) -> None:
    wire = Wire(
        head(1, 0, 0),
        head(2, 3, 2),
        *[DEFINITION] * (3 + 2 + 2 * more),
        head(3, 0, 1),
        *[DEFINITION] * (1 + more),
        without_eof=without_eof,
    )
    assert await prepare_statements(wire, ["COMMIT", "SELECT", "DELETE"]) == [
        PreparedHandle(1, 0),
        PreparedHandle(2, 2, (DEFINITION,) * 3),
        PreparedHandle(3, 1),
    ]
    assert wire.sent == b"\x07\x00\x00\x00\x16COMMIT\x07\x00\x00\x00\x16SELECT\x07\x00\x00\x00\x16DELETE"
    assert wire.answers == []


async def test_a_refusal_costs_no_other_statement() -> None:
    wire = Wire(head(1, 0, 0), ProgrammingError(1146, "no such table"), head(2, 0, 0), without_eof=True)
    first, refused, last = await prepare_statements(wire, ["BEGIN", "SELECT", "COMMIT"])
    assert isinstance(refused, SQLError)
    assert (first, refused.code, last) == (PreparedHandle(1, 0), 1146, PreparedHandle(2, 0))


async def test_a_lost_connection_ends_it_all() -> None:
    wire = Wire(head(1, 0, 0), OperationalError(2013, "lost"), without_eof=True)
    with pytest.raises(ConnectionLostError):
        await prepare_statements(wire, ["BEGIN", "SELECT", "COMMIT"])
