"""Servers and tables that keep us waiting: each command says what it waits for, and ends."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from tests.integration.support import sbtest
from tests.integration.support.commands import (
    ask,
    assert_nothing_left,
    finished,
    started,
    tuibench,
    wait_for_output,
)
from tests.integration.support.processes import until
from tests.integration.support.shared import Starter
from tests.scripted_server import Answer, ScriptedServer, endless_rows, obliging
from tuibench.base.errors import LockedError
from tuibench.mysql.info import connect_with_defaults
from tuibench.servers.binaries import Binary
from tuibench.servers.server import PrivateServer

SIZE = ("--tables=2", "--table-size=500")
RUN = ("run", "oltp_read_write", "--time=1", "--client-delay=2ms", *SIZE)


@pytest.fixture
async def holder(tables: PrivateServer) -> AsyncIterator[int]:
    """The session of another user that has locked sbtest1."""
    async with sbtest.connected(tables.target) as other:
        await other.execute("LOCK TABLES sbtest1 WRITE")
        yield other.thread_id


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(RUN, marks=pytest.mark.one_flavour),
        pytest.param(("check", "oltp_read_write", *SIZE), marks=pytest.mark.whole),
        pytest.param(("cleanup", "oltp_read_write", *SIZE), marks=pytest.mark.one_flavour),
    ],
    ids=" ".join,
)
async def test_a_locked_table_is_not_waited_for(
    tables: PrivateServer, holder: int, command: tuple[str, ...], tuibench_home: Path
) -> None:
    done = await asyncio.to_thread(tuibench, *command, "--query-timeout=6", target=tables.target)
    assert done.code == 3, done.err
    notice, error = done.err.splitlines()[-2:]
    assert notice.startswith("tuibench: waiting for ")
    assert "it waits for a table metadata lock" in notice
    assert f"session {holder} (tuibench@localhost" in notice
    assert f"session {holder} (tuibench@localhost" in error
    assert "end that session, or wait until it releases the lock" in error
    assert await ask(tables.target, "SELECT COUNT(*) FROM sbtest2") == [(500,)]
    assert_nothing_left(tuibench_home)


async def test_the_holder_is_named_where_the_server_lists_its_locks(start: Starter, binary: Binary) -> None:
    options = ("--performance-schema=ON", "--performance-schema-instrument=wait/lock/metadata/sql/mdl=ON")
    async with await start(binary, options=options) as server, sbtest.connected(server.target) as other:
        await other.execute("CREATE TABLE t (id INT)")
        await other.execute("LOCK TABLES t WRITE")
        asked = await connect_with_defaults(msgspec.structs.replace(server.target, query_timeout=6.0))
        with pytest.raises(LockedError) as caught:
            await asked.query("SELECT * FROM t")
        held = f"which is held by session {other.thread_id} (tuibench@localhost, idle for"
        assert held in caught.value.message
        await asked.close()


@pytest.mark.one_flavour
async def test_a_lock_that_is_given_back_costs_nothing_but_time(tables: PrivateServer) -> None:
    async with sbtest.connected(tables.target) as other:
        await other.execute("LOCK TABLES sbtest1 WRITE")
        with started(*RUN, target=tables.target) as process:
            await asyncio.to_thread(wait_for_output, process, "it waits for a table metadata lock")
            await other.execute("UNLOCK TABLES")
            done = await asyncio.to_thread(finished, process)
    assert done.code == 0, done.err


@pytest.mark.one_flavour
async def test_a_server_that_is_stopped_is_not_waited_for(restartable: PrivateServer) -> None:
    await ask(restartable.target, "SELECT 1")
    os.kill(restartable.pid, signal.SIGSTOP)
    try:
        done = await asyncio.to_thread(tuibench, *RUN, "--connect-timeout=1", target=restartable.target)
    finally:
        os.kill(restartable.pid, signal.SIGCONT)
    assert done.code == 3
    assert "no answer within 1 s" in done.err


HANGING = (
    ("run", "oltp_read_write"),
    ("prepare", "oltp_read_write"),
    pytest.param(("check", "oltp_read_write"), marks=pytest.mark.whole),
    pytest.param(("cleanup", "oltp_read_write"), marks=pytest.mark.whole),
    ("doctor", "oltp_read_write"),
    ("settings", "list"),
)


@pytest.mark.parametrize("command", HANGING, ids=" ".join)
async def test_a_server_that_hangs_after_the_login_is_not_waited_for(command: tuple[str, ...]) -> None:
    async with ScriptedServer(lambda number, payload: None).listening() as server:
        target = msgspec.structs.replace(server.target, password="x")
        options = ("--query-timeout=1", "--ssl-mode=disabled")
        done = await asyncio.to_thread(tuibench, *command, *options, target=target)
    assert done.code == 3, done.err
    assert server.target.where in done.err.splitlines()[-1]
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "silent_from",
    [pytest.param(place, marks=() if place in (2, 11) else pytest.mark.whole) for place in range(1, 12)],
)
async def test_a_server_that_hangs_at_any_question_is_not_waited_for(silent_from: int) -> None:
    """Whatever the first ones are answered: one that is not ends the command."""
    heard_so_far = 0

    def respond(command: int, payload: bytes) -> bytes | None:
        nonlocal heard_so_far
        heard_so_far += 1
        answer = obliging(command, payload)
        return answer if heard_so_far < silent_from and isinstance(answer, bytes) else None

    async with ScriptedServer(respond).listening() as server:
        options = ("--query-timeout=1", "--ssl-mode=disabled")
        done = await asyncio.to_thread(tuibench, "doctor", "oltp_read_write", *options, target=server.target)
    assert done.code != 0
    assert "Traceback" not in done.err


@pytest.mark.parametrize("command", ["run", "prepare"])
async def test_ctrl_c_interrupts_an_endless_result(command: str) -> None:
    def respond(number: int, payload: bytes) -> Answer:
        return endless_rows() if is_question(payload) else obliging(number, payload)

    async with ScriptedServer(respond).listening() as server:
        server.pause_seconds = 0.005
        with started(command, "oltp_read_write", "--ssl-mode=disabled", target=server.target) as process:
            assert await asyncio.to_thread(until, lambda: any(is_question(sql) for _, sql in server.heard))
            process.send_signal(signal.SIGINT)
            done = await asyncio.to_thread(finished, process)
    assert done.code == 130, done.err
    assert "Traceback" not in done.err


def is_question(payload: bytes) -> bool:
    return payload.startswith((b"SELECT", b"SHOW"))
