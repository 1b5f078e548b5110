"""Questions to a server, also a hostile one."""

import asyncio
import contextlib
import math
import struct
from collections.abc import Callable, Iterator, Sequence

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.scripted_server import QUERY, VERSIONS, Answer, ScriptedServer, endless_rows, obliging
from tests.unit.mysql.server_packets import definition, err, number, ok, packet, result
from tests.unit.mysql.server_packets import text_row as hostile_packets_text_row
from tests.unit.mysql.value_encoding import KINDS
from tuibench.base import clock
from tuibench.base.clock import listener
from tuibench.base.errors import (
    LockedError,
    NoAnswerError,
    ProtocolError,
    ServerUnreachableError,
    TuibenchError,
)
from tuibench.model.server import Target
from tuibench.mysql import rows, statements
from tuibench.mysql.connection import connect
from tuibench.mysql.info import Manner, connect_with_defaults, processes_of
from tuibench.mysql.packets import (
    CachingParser,
    ResponseCache,
    ResponseParser,
    affected_rows,
    column_names,
    status_of,
)
from tuibench.mysql.rows import ResultReader, RowReaderFactory, binary_row_reader, text_row_reader
from tuibench.mysql.statements import try_parse

# Our own questions to a server that is silent, talks without end, or sends what is no answer.


QUESTION = "SELECT MAX(id) FROM sbtest1"


def quick(target: Target, **timeouts: float) -> Target:
    """The target with a short patience."""
    return msgspec.structs.replace(target, **{"connect_timeout": 5.0, "query_timeout": 0.2, **timeouts})


def only(answer: Callable[[], Answer]) -> Callable[[int, bytes], Answer]:
    """Answers our question so, and all else as one would."""
    return lambda command, payload: answer() if payload == QUESTION.encode() else obliging(command, payload)


@pytest.fixture(params=list(VERSIONS.values()), ids=list(VERSIONS))
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_a_silent_server_is_not_waited_for(version: str) -> None:
    server = ScriptedServer(only(lambda: None), version=version)
    async with server.listening():
        connection = await connect_with_defaults(quick(server.target))
        with pytest.raises(NoAnswerError) as caught:
            await connection.query(QUESTION)
        assert not connection.is_open
    assert caught.value.exit_code == 3
    assert server.target.where in caught.value.message
    assert f"'{QUESTION}'" in caught.value.message
    assert "--query-timeout" in caught.value.hint
    assert (QUERY, b"KILL 7") in server.heard


async def test_a_server_that_hangs_after_the_login_is_not_waited_for(version: str) -> None:
    server = ScriptedServer(lambda command, payload: None, version=version)
    async with server.listening():
        with pytest.raises(NoAnswerError):
            await connect_with_defaults(quick(server.target))


async def test_a_server_that_hangs_in_the_login_is_not_waited_for(version: str) -> None:
    server = ScriptedServer(version=version)
    server.login_answers = None
    async with server.listening():
        with pytest.raises(ServerUnreachableError, match=r"no answer within 0\.2 s") as caught:
            await connect(quick(server.target, connect_timeout=0.2))
    assert "--connect-timeout" in caught.value.hint


async def test_a_long_wait_is_reported_with_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    was_told = asyncio.Event()

    def tell(text: str) -> None:
        told.append(text)
        was_told.set()

    listener.set(tell)
    processes: list[tuple[object, ...]] = [
        (7, "app", "h", "db", "Query", 2, "Waiting for table metadata lock", QUESTION)
    ]
    processes.append((12, "root", "localhost", "db", "Sleep", 50, "", None))
    server = ScriptedServer(locked(processes))
    async with server.listening():
        connection = await connect_with_defaults(quick(server.target, query_timeout=5))
        monkeypatch.setattr(clock, "NOTICE_SECONDS", 0.0)
        asking = asyncio.create_task(connection.query(QUESTION))
        await was_told.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert told == [
        f"waiting for {server.target.where}: no answer to '{QUESTION}' for 1 s; it waits for a table "
        "metadata lock; the server does not say which session holds it "
        "(others in this database: session 12 (root@localhost, idle for 50 s))"
    ]


def locked(processes: list[tuple[object, ...]]) -> Callable[[int, bytes], Answer]:
    def respond(command: int, payload: bytes) -> Answer:
        if payload == b"SHOW PROCESSLIST":
            columns = [named(name) for name in PROCESS_COLUMNS]
            return result([text_row(row) for row in processes], columns=columns)
        return None if payload == QUESTION.encode() else obliging(command, payload)

    return respond


PROCESS_COLUMNS = ("Id", "User", "Host", "db", "Command", "Time", "State", "Info")


def named(name: str) -> bytes:
    """The definition of a text column with this name."""
    return definition().replace(b"\x01c\x01c", bytes((len(name),)) + name.encode() + b"\x01c")


def text_row(values: tuple[object, ...]) -> bytes:
    texts = [None if value is None else str(value).encode() for value in values]
    return b"".join(b"\xfb" if text is None else number(len(text)) + text for text in texts)


async def test_work_takes_its_time_but_is_refused_a_lock() -> None:
    server = ScriptedServer(only(lambda: err(1205, "Lock wait timeout exceeded")))
    async with server.listening():
        connection = await connect_with_defaults(quick(server.target), manner=Manner.WORKS)
        with pytest.raises(LockedError) as caught:
            await connection.query(QUESTION)
    assert caught.value.exit_code == 3
    assert "waits for a lock" in caught.value.message


async def test_a_cancellation_leaves_a_silent_server_at_once() -> None:
    asked = asyncio.Event()
    server = ScriptedServer(only(asked.set))
    async with server.listening():
        connection = await connect_with_defaults(quick(server.target, query_timeout=3600))
        asking = asyncio.create_task(connection.query(QUESTION))
        await asked.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await connection.close()


# Answers without an end


async def test_rows_without_end_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "MOST_BYTES", 1 << 20)
    server = ScriptedServer(only(endless_rows))
    async with server.listening():
        connection = await connect_with_defaults(quick(server.target, query_timeout=60))
        with pytest.raises(ProtocolError, match="more than 1 MiB"):
            await connection.query(QUESTION)
        assert not connection.is_open


async def test_a_cancellation_takes_effect_while_rows_arrive() -> None:
    server = ScriptedServer(only(endless_rows))
    async with server.listening():
        connection = await connect_with_defaults(quick(server.target, query_timeout=60))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await connection.query(QUESTION)


async def test_too_many_rows_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MOST_ROWS", 10)
    server = ScriptedServer(only(lambda: result([b"\x01x"] * 11)))
    async with server.listening():
        connection = await connect_with_defaults(quick(server.target))
        with pytest.raises(ProtocolError, match="more than 10 rows"):
            await connection.query(QUESTION)


# Answers that are none

MALFORMED = {
    "a short error": packet(1, b"\xff\x01"),
    "an error of one byte": packet(1, b"\xff"),
    "an OK of one byte": packet(1, b"\x00"),
    "an absurd number of columns": packet(1, b"\xfe" + b"\xff" * 8),
    "an absurd length in a row": result([b"\xfe" + b"\xff" * 8]),
    "a row that is too short": result([b"\x05x"]),
    "a definition of two bytes": result([b"\x01x"], columns=[b"\x03x"]),
    "an empty packet": packet(1, b""),
    "a wrong sequence": packet(9, b"\x00\x00\x00\x02\x00\x00\x00"),
    "a file": packet(1, b"\xfb/etc/passwd"),
}


@pytest.mark.parametrize("answer", MALFORMED.values(), ids=MALFORMED)
async def test_what_is_no_answer_is_an_error_with_the_address(answer: bytes) -> None:
    server = ScriptedServer(only(lambda: answer))
    async with server.listening():
        connection = await connect_with_defaults(quick(server.target, query_timeout=5))
        with pytest.raises(TuibenchError) as caught:
            await connection.query(QUESTION)
    assert isinstance(caught.value, ProtocolError)
    assert f"the server at {server.target.where} violated the MySQL protocol" in caught.value.message


LOGINS = {
    "another plugin and another": packet(2, b"\xfemysql_native_password\0" + b"s" * 20 + b"\0")
    + packet(4, b"\xfemysql_native_password\0" + b"s" * 20 + b"\0"),
    "a short error": packet(2, b"\xff\x01"),
    "a wrong sequence": packet(9, b"\x00\x00\x00\x02\x00\x00\x00"),
    "neither OK nor error": packet(2, b"\x05"),
    "data for no plugin": packet(2, b"\x01\x03"),
    "an empty packet": packet(2, b""),
}


@pytest.mark.parametrize("answer", LOGINS.values(), ids=LOGINS)
async def test_a_login_that_is_none_is_an_error_with_the_address(answer: bytes) -> None:
    server = ScriptedServer()
    server.login_answers = answer
    async with server.listening():
        with pytest.raises(TuibenchError) as caught:
            await connect(quick(server.target))
    assert server.target.where in str(caught.value)
    assert caught.value.exit_code == 3


async def test_a_login_without_end_takes_no_memory() -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield packet(2, b"\xfe" + b"x" * 0xFFFFFE)

    server = ScriptedServer()
    server.login_answers = endless()
    async with server.listening():
        with pytest.raises(ProtocolError, match="more than 1 MiB"):
            await connect(quick(server.target))


PREPARED = {
    "a short head": packet(1, b"\x00\x01"),
    "an error of one byte": packet(1, b"\xff"),
    "no definitions": packet(1, b"\x00" + struct.pack("<IHH", 1, 2, 0)) + ok(sequence=9),
}


@pytest.mark.parametrize("answer", PREPARED.values(), ids=PREPARED)
async def test_a_statement_that_is_not_prepared_is_an_error_with_the_address(answer: bytes) -> None:
    server = ScriptedServer(lambda command, payload: answer)
    async with server.listening():
        connection = await connect(quick(server.target))
        with pytest.raises(ProtocolError, match="violated the MySQL protocol"):
            await connection.prepare("SELECT ?")
        assert not connection.is_open


# Connections of a load


async def test_a_connection_of_the_load_is_set_up_in_time() -> None:
    server = ScriptedServer(lambda command, payload: None)
    async with server.listening():
        connection = await connect(quick(server.target, net_timeout=0.1))
        with pytest.raises(NoAnswerError):
            await connection.execute("SET x = 1")
        connection = await connect(quick(server.target, net_timeout=0.1))
        with pytest.raises(NoAnswerError):
            await connection.prepare("SELECT ?")
        assert not connection.is_open


# Whatever bytes a server sends: an answer, or an error of our own tree.


DEFINITIONS = [kind.definition for kind in KINDS.values()]
WHOLE = [
    ok(3),
    ok(2**40, insert_id=2**63),
    err(1064, "You have an error"),
    result([hostile_packets_text_row(5), hostile_packets_text_row(5)]),
    result([b"\x03abc", b"\xfb"], columns=2, without_eof=False),
    result([b"\x01" * len(DEFINITIONS)], columns=DEFINITIONS),
    result([], columns=[definition()], cached=True),
    ok(1, status=8) + ok(2, sequence=2),
]
MANGLED = 6
"""Bytes that are changed in an answer."""


@st.composite
def mangled(draw: st.DrawFn) -> bytes:
    """An answer of which some bytes are others, or missing."""
    data = bytearray(draw(st.sampled_from(WHOLE)))
    for place in draw(st.lists(st.integers(0, len(data) - 1), max_size=MANGLED)):
        data[place] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data)


def hostile() -> st.SearchStrategy[bytes]:
    return st.one_of(mangled(), st.binary(max_size=80), st.binary(max_size=30).map(lambda b: packet(1, b)))


@given(pieces=st.lists(hostile(), max_size=3), without_eof=st.booleans())
@example(pieces=[packet(1, b"\xff")], without_eof=True)
@example(pieces=[packet(1, b"\x00")], without_eof=True)
def test_the_end_of_any_answer(pieces: Sequence[bytes], without_eof: bool) -> None:
    for reader in (
        ResponseParser(without_eof=without_eof),
        CachingParser(ResponseParser(without_eof=without_eof), ResponseCache()),
    ):
        with contextlib.suppress(TuibenchError):
            for piece in pieces:
                reader.feed(piece)


@given(hostile())
def test_a_glance_at_any_answer(data: bytes) -> None:
    rows = try_parse(data)
    assert rows is None or 0 <= rows < math.inf


@pytest.mark.parametrize("form", [text_row_reader, binary_row_reader])
@given(data=hostile(), without_eof=st.booleans())
@example(data=result([b"\xfe" + b"\xff" * 8]), without_eof=True)
@example(data=packet(1, b"\xfe" + b"\xff" * 8), without_eof=True)
def test_the_rows_of_any_answer(form: RowReaderFactory, data: bytes, without_eof: bool) -> None:
    """Only of those that have an end, as others never come to be read."""
    reader = ResultReader(form, "utf8", without_eof=without_eof)
    try:
        if ResponseParser(without_eof=without_eof).feed(data) is None:
            return
    except TuibenchError:
        return
    with contextlib.suppress(TuibenchError):
        reader.read(data)
        column_names(reader.definitions, "utf8")
    if status_of(data) is not None:
        assert affected_rows(data) >= 0


# SHOW PROCESSLIST of other makes, whose columns are found by name.

DORIS = {
    "CurrentConnected": "Yes", "Id": "12", "User": "app", "Host": "web:1", "LoginTime": "2026-11-28 08:00:00",
    "Catalog": "internal", "Db": "sbtest", "Command": "Query", "Time": "3", "State": "OK",
    "QueryId": "a1-b2", "Info": "SELECT 1", "FE": "fe1",
}  # fmt: skip
STARROCKS = {
    "ServerName": "fe1", "Id": 12, "User": "app", "Host": "web:1", "Db": "sbtest", "Command": "Query",
    "ConnectionStartTime": "2026-11-28 08:00:00", "Time": 3, "State": "OK", "Info": "SELECT 1",
    "IsPending": "false", "Warehouse": "default",
}  # fmt: skip
MATRIXONE = {
    "node_id": "7c4d", "conn_id": 12, "session_id": "018f", "account": "sys", "user": "app", "host": "cn1",
    "db": "sbtest", "session_start": "2026-11-28 08:00:00", "command": "Query", "info": "SELECT 1",
    "txn_id": "", "client_host": "web:1", "role": "moadmin",
}  # fmt: skip


@pytest.mark.parametrize("row", [DORIS, STARROCKS, MATRIXONE])
def test_processes_are_read_by_the_names_of_their_columns(row: dict[str, object]) -> None:
    (found,) = processes_of([row, {"Host": "a row without a number"}])
    assert (found.id, found.user, found.database, found.command) == (12, "app", "sbtest", "Query")
    assert (found.statement, found.seconds) == ("SELECT 1", 0 if row is MATRIXONE else 3)
    assert found.is_busy
