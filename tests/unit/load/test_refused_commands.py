"""Servers and proxies that take only some commands: what the load sends in their place."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from tests.scripted_server import END_OF_FILE, PREPARE, QUERY, QUIT, Answer, ScriptedServer, obliging
from tests.unit.load.programs import EXPLICIT, begin, program
from tests.unit.mysql.server_packets import err, ok, packet, result
from tuibench.base.errors import NotReadyError, SQLError
from tuibench.load.messages import StartLoad
from tuibench.load.tables import LoadOptions, TableLoader, check_statements_allowed
from tuibench.load.worker import create_engine
from tuibench.mysql.connection import connect
from tuibench.workload import library
from tuibench.workload.dataset import build_data_set
from tuibench.workload.program import flat_statements

EXECUTE = 0x17
NO_PREPARE = err(1105, "unsupported command: prepare")
WSREP = err(1047, "WSREP has not yet prepared node for application use", state="#08S01")
PROGRAM = program(EXPLICIT)
TEXTS = [flat.sql for flat in flat_statements(PROGRAM)]


def prepared(payload: bytes) -> bytes:
    """The answer to a preparation: a statement without columns, and its placeholders."""
    marks = payload.count(b"?")
    head = packet(1, b"\0\1\0\0\0\0\0" + bytes((marks, 0)) + b"\0\0\0")
    return head + b"".join(packet(2 + each, b"\x03def") for each in range(marks))


def answering(prepare: bytes | None = None, execute: bytes | None = None) -> Callable[[int, bytes], Answer]:
    """A server that prepares and executes statements, or answers with these errors instead."""

    def respond(command: int, payload: bytes) -> Answer:
        if command == PREPARE:
            return prepare or prepared(payload)
        if command == EXECUTE:
            return execute or ok()
        if command == QUERY and payload.startswith(b"EXPLAIN"):
            return result([])
        return obliging(command, payload)

    return respond


def hanging_up(command: int, payload: bytes) -> Answer:
    """A proxy that closes the connection when a prepared statement is executed."""
    if command == EXECUTE:
        raise ConnectionResetError
    return answering()(command, payload)


async def checked(server: ScriptedServer) -> str:
    connection = await connect(server.target)
    try:
        return await check_statements_allowed(connection, PROGRAM)
    finally:
        await connection.close()


async def test_a_server_that_prepares_nothing_gets_text() -> None:
    async with ScriptedServer(answering(prepare=NO_PREPARE)).listening() as server:
        assert await checked(server) == (
            "the server prepares no statements, they are sent as text: the server at "
            f"127.0.0.1:{server.port}: unsupported command: prepare (error 1105)"
        )


@pytest.mark.parametrize("respond", [hanging_up, answering(execute=err(1243, "Unknown handler"))])
async def test_a_server_that_executes_nothing_that_it_prepared_gets_text(
    respond: Callable[[int, bytes], Answer],
) -> None:
    async with ScriptedServer(respond).listening() as server:
        assert (await checked(server)).startswith("the server executes no prepared statements, all are sent")


async def test_a_server_with_prepared_statements_gets_them() -> None:
    async with ScriptedServer(answering()).listening() as server:
        assert await checked(server) == ""


async def test_a_wrong_statement_is_refused_as_text_and_ends_the_check() -> None:
    unknown = err(1054, "Unknown column 'c' in 'field list'")

    def respond(command: int, payload: bytes) -> Answer:
        wrong = payload.removeprefix(b"EXPLAIN ").startswith(b"SELECT c")
        return unknown if wrong and command in (PREPARE, QUERY) else answering()(command, payload)

    async with ScriptedServer(respond).listening() as server:
        with pytest.raises(SQLError, match="Unknown column") as caught:
            await checked(server)
    assert caught.value.full_message.endswith("(error 1054)")


async def test_a_node_that_is_not_ready_is_no_server_without_prepared_statements() -> None:
    async with ScriptedServer(answering(prepare=WSREP)).listening() as server:
        with pytest.raises(NotReadyError, match="wsrep_ready"):
            await checked(server)


def load(server: ScriptedServer, *, is_native: bool, is_prepared: bool) -> StartLoad:
    given = begin(EXPLICIT, prepared=is_prepared, limit=3)
    return msgspec.structs.replace(given, target=server.target, is_native=is_native)


async def run(given: StartLoad) -> int:
    """Runs a load to its limit; returns the completed transactions."""
    done = asyncio.Event()
    engine = create_engine(given, lambda _: done.set())
    engine.set_connections([0])
    await done.wait()
    await engine.stop(1)
    report = engine.report()
    assert not report.failure, report.failure
    return report.counters.completed


@pytest.mark.parametrize("is_native", [False, True])
async def test_without_prepared_statements_every_command_is_a_query(is_native: bool) -> None:
    async with ScriptedServer(answering()).listening() as server:
        assert await run(load(server, is_native=is_native, is_prepared=False)) == 3
    assert {command for command, _ in server.heard} <= {QUERY, QUIT}


@pytest.mark.parametrize("is_native", [False, True])
async def test_statements_that_are_not_prepared_are_sent_as_text(is_native: bool) -> None:
    async with ScriptedServer(answering(prepare=NO_PREPARE)).listening() as server:
        assert await run(load(server, is_native=is_native, is_prepared=True)) == 3
    commands = [command for command, _ in server.heard]
    assert PREPARE in commands
    assert EXECUTE not in commands


# Loading tables


async def load_tables(server: ScriptedServer, insert_method: str = "auto") -> None:
    made = library.load_program("oltp_read_write", {"table_size": 20})
    method = msgspec.convert({"parallel": 1, "insert_method": insert_method}, LoadOptions)
    loader = TableLoader(server.target, build_data_set(made), method, 1 << 20, lambda _: None)
    await loader.run()


def no_infile(command: int, payload: bytes) -> Answer:
    """A proxy that knows LOAD DATA as little as ProxySQL, before a server that allows it."""
    if payload.startswith(b"SELECT @@local_infile"):
        return result([b"\x011"])
    if payload.startswith(b"LOAD DATA"):
        return err(1047, "Unsupported command", state="#08S01")
    if payload.startswith(b"INSERT"):
        return ok(20)
    return obliging(command, payload)


async def test_rows_are_inserted_where_load_data_is_refused() -> None:
    async with ScriptedServer(no_infile).listening() as server:
        await load_tables(server)
    sent = [payload.split(b" ", 1)[0] for command, payload in server.heard if command == QUERY]
    assert sent.index(b"LOAD") < sent.index(b"INSERT")


async def test_a_method_that_was_asked_for_is_not_replaced() -> None:
    async with ScriptedServer(no_infile).listening() as server:
        with pytest.raises(
            SQLError, match=r"Unsupported command \(error 1047\) \(a proxy may refuse"
        ) as caught:
            await load_tables(server, "infile")
    assert f"127.0.0.1:{server.port}" in str(caught.value)


async def test_a_refusal_after_the_first_rows_is_no_refusal_of_the_method() -> None:
    def respond(command: int, payload: bytes) -> Answer:
        if payload.startswith(b"LOAD DATA"):
            return packet(1, b"\xfbrows")
        if command == END_OF_FILE:
            return err(1062, "twice", sequence=4)
        return no_infile(command, payload) if command == QUERY else None

    async with ScriptedServer(respond).listening() as server:
        with pytest.raises(SQLError, match="twice"):
            await load_tables(server)
    assert not any(payload.startswith(b"INSERT") for _, payload in server.heard)
