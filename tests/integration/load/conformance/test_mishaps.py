"""What a load does when something goes wrong."""

import asyncio
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from tests.integration.features.crash.proxy import Spoil, SpoilingProxy
from tests.integration.load.conformance.driving import (
    DEADLINE_SECONDS,
    ENGINES,
    QUEUES,
    AnyEngine,
    Drive,
    driving,
    program,
)
from tests.integration.load.conformance.test_loads import BOTH, READ
from tests.integration.support import sbtest
from tests.integration.support.ways import through
from tuibench.base.clock import NS_PER_MS
from tuibench.base.errors import SQLError
from tuibench.model.callers import CallerPolicy, OnDeadline, time_limit_statements
from tuibench.model.plan import Backlog, OnError
from tuibench.model.server import Target
from tuibench.mysql.connection import Connection
from tuibench.servers.server import PrivateServer
from tuibench.workload.program import Program

CROSSING = program("""
[[transactions]]
name = "cross"
[[transactions.steps]]
let.one = { make = "uniform", high = 2 }
statements = [
    { name = "first", sql = "UPDATE t SET n = n + 1 WHERE id = ?", bind = ["one"] },
    { name = "second", sql = "UPDATE t SET n = n + 1 WHERE id = ?", bind = ["3 - one"] },
]
""")

UNIQUE = program("""
[[transactions]]
name = "note"
autocommit = true
[[transactions.steps]]
let.id = { make = "unique" }
statements = [{ name = "insert", sql = "INSERT INTO u VALUES (?, 1)", bind = ["id"] }]
""")

WRONG = program("""
[[transactions]]
name = "wrong"
[[transactions.steps]]
statements = [{ name = "fails", sql = "INSERT INTO t VALUES (1, 1)" }]
""")

COUNTING = program("""
[[transactions]]
name = "count"
[[transactions.steps]]
let.id = { make = "uniform", high = 100 }
statements = [{ name = "add", sql = "UPDATE t SET n = n + 1 WHERE id = ?", bind = ["id"] }]
""")

ADDING = program("""
[[transactions]]
name = "add"
autocommit = true
[[transactions.steps]]
let.id = { make = "uniform", high = 100 }
statements = [
    { name = "look", sql = "SELECT n FROM t WHERE id = ?", bind = ["id"] },
    { name = "add", sql = "UPDATE t SET n = n + 1 WHERE id = ?", bind = ["id"] },
]
""")

LOOKING = program("""
[[transactions]]
name = "look"
[[transactions.steps]]
let.id = { make = "uniform", high = 100 }
statements = [{ name = "look", sql = "SELECT n FROM t WHERE id = ?", bind = ["id"] }]
""")

SLEEPING = program("""
[[transactions]]
name = "sleep"
autocommit = true
[[transactions.steps]]
let.seconds = 60
statements = [{ name = "sleep", sql = "SELECT SLEEP(?) FROM t WHERE id = 1", bind = ["seconds"] }]
""")


async def test_deadlocks_are_tried_again_and_lose_nothing(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, CROSSING, 8) as drive:
        await drive.until(lambda counters: counters.retries >= 3)
        counters = await drive.ends()
    async with sbtest.connected(rows) as connection:
        ((total,),) = await connection.query("SELECT SUM(n) FROM t")
    assert int(total) == 2 * counters.commits
    assert counters.retried == {"cross": counters.retries}
    assert counters.errors[1213] == counters.retries
    assert counters.failed == 0


@pytest.mark.one_flavour
async def test_an_error_ends_the_load(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, WRONG, 1) as drive:
        counters = await drive.until(lambda _: drive.last.failure.message)
        assert "Duplicate entry" in drive.last.failure.message
        assert (counters.failed, counters.completed, counters.errors) == (1, 0, {1062: 1})


@pytest.mark.one_flavour
async def test_an_error_may_fail_only_its_transaction(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, WRONG, 2, on_error=OnError.CONTINUE, limit=40) as drive:
        counters = await drive.until(lambda counters: counters.failed == 40)
        assert counters.errors == {1062: 40}
        assert (counters.completed, counters.retries, drive.last.failure.message) == (0, 0, "")


@pytest.mark.one_flavour
async def test_tries_come_to_an_end(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, WRONG, 1, ignored_errors=(1062,), max_retries=3, limit=2) as drive:
        counters = await drive.until(lambda counters: counters.failed == 2)
        assert (counters.retries, counters.errors) == (6, {1062: 8})


async def test_a_killed_connection_is_made_again(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, BOTH, 3) as drive, sbtest.connected(rows) as connection:
        await drive.completes(10)
        await connection.execute(f"KILL {drive.engine.connection_ids()[0]}")
        await drive.until(lambda counters: counters.reconnects == 1)
        await drive.until_connected(3)
        await drive.completes(10)
        assert drive.last.failure.message == ""


@pytest.mark.one_flavour
@pytest.mark.parametrize("way", ENGINES, indirect=True)
@pytest.mark.parametrize(
    ("made", "dropped", "is_unknown"),
    [
        (COUNTING, b"COMMIT", True),
        (COUNTING, b"UPDATE", False),
        (ADDING, b"UPDATE", True),
        (ADDING, b"SELECT", False),
        (LOOKING, b"COMMIT", False),
    ],
    ids=["commit", "update before it", "update alone", "select", "commit of reads"],
)
async def test_commits_without_an_answer_are_of_unknown_fate(
    kind: AnyEngine, made: Program, dropped: bytes, is_unknown: bool, rows: Target, tmp_path: Path
) -> None:
    """Every fifth answer is dropped with its connection; what the server has says which were committed."""
    proxy, socket = SpoilingProxy(rows, Spoil.DROP, lambda data: dropped in data), tmp_path / "proxy.sock"
    async with proxy.listening(socket):
        through = msgspec.structs.replace(rows, socket=str(socket))
        async with driving(kind, through, made, 3, limit=60, prepared=False) as drive:
            counters = await drive.until(lambda counters: counters.completed + counters.failed == 60)
            assert (counters.failed, counters.errors) == (proxy.spoiled, {2013: proxy.spoiled})
            assert counters.unknown_commits == (proxy.spoiled if is_unknown else 0)
    assert proxy.spoiled >= 10
    async with sbtest.connected(rows) as connection:
        ((total,),) = await connection.query("SELECT SUM(n) FROM t")
    done = 0 if made is LOOKING else counters.completed
    assert int(total) == done + counters.unknown_commits


async def test_a_query_whose_end_is_expected_is_tried_again(kind: AnyEngine, rows: Target) -> None:
    made = program("""
[[transactions]]
name = "wait"
autocommit = true
[[transactions.steps]]
let.id = { make = "uniform", high = 100 }
statements = [{ name = "wait", sql = "UPDATE t SET n = n + 1 WHERE id = ?", bind = ["id"] }]
""")
    async with driving(kind, rows, made, 1) as drive, sbtest.connected(rows) as connection:
        await drive.completes(5)
        await connection.execute("BEGIN")
        await connection.query("SELECT n FROM t FOR UPDATE")
        (id,) = drive.engine.connection_ids()
        drive.engine.expect_kill(id)
        async with asyncio.timeout(DEADLINE_SECONDS):
            await _is_at_work(connection, id)
        await connection.execute(f"KILL QUERY {id}")
        await drive.until(lambda counters: counters.retries == 1)
        await connection.execute("COMMIT")
        await drive.completes(5)
        assert drive.last.failure.message == ""
        assert drive.last.counters.errors in ({1317: 1}, {1205: 1}), "MariaDB may name the lock, not the kill"


async def _is_at_work(connection: Connection, id: int) -> None:
    """Returns when this connection's UPDATE waits for its lock."""
    sql = f"SELECT 1 FROM information_schema.processlist WHERE id = {id} AND info LIKE 'UPDATE%'"
    while not await connection.query(sql):
        await connection.query("SELECT SLEEP(0.01)")


async def _lose_connections(drive: Drive, connection: Connection, count: int) -> None:
    """Kills so many connections, none of which is leaving; each is made anew, after one KILL."""
    before = drive.counters.reconnects
    killed = drive.engine.connection_ids()[:count]
    for id in killed:
        await connection.execute(f"KILL {id}")
    await drive.reconnects(before + count)
    assert set(killed).isdisjoint(drive.engine.connection_ids())


async def _replace_connections(drive: Drive, kept: int, wanted: int) -> None:
    """All but the first `kept` connections leave, others are opened in their place. One that leaves is not
    made anew when it is killed.
    """
    leaving = set(drive.engine.connection_ids()[kept:])
    drive.engine.set_connections(range(kept))
    drive.engine.set_connections(range(wanted))
    await drive.until(lambda _: leaving.isdisjoint(drive.engine.connection_ids()))
    await drive.until_connected(wanted)


@pytest.mark.parametrize("policy", QUEUES, ids=[str(each.queue) for each in QUEUES])
async def test_callers_are_accounted_for_while_connections_are_lost_and_the_load_changes(
    kind: AnyEngine, rows: Target, policy: CallerPolicy
) -> None:
    """Each report is balanced, in good times and bad; at the end, nothing waits and all is accounted for."""
    async with (
        driving(kind, rows, COUNTING, 4, rate=600, on_error=OnError.CONTINUE) as drive,
        sbtest.connected(rows) as connection,
    ):
        # Capacity: less than 200 per second.
        drive.engine.set_delay(10 * NS_PER_MS)
        drive.engine.set_callers(policy)
        await drive.until_connected(4)
        await drive.until(lambda counters: counters.late + counters.abandoned > 20)
        for number in range(6):
            await _lose_connections(drive, connection, 1 + number % 3)
            if number == 1:
                drive.engine.pause()
                drive.engine.set_rate(900)
                drive.engine.resume()
            if number == 2:
                await _replace_connections(drive, 2, 5)
            if number == 3:
                drive.engine.set_callers(msgspec.structs.replace(policy, deadline_ms=15))
            await drive.completes(5)
        assert drive.counters.resent > 0
        drive.engine.set_rate(1)
        counters = await drive.ends()
        assert (counters.in_flight, counters.backlog) == (0, 0)
        ended = counters.completed + counters.failed + counters.abandoned
        assert counters.scheduled == ended
        assert 0 < counters.good + counters.late <= counters.completed


SLOW = program("""
[[transactions]]
name = "slow"
autocommit = true
[[transactions.steps]]
statements = [{ name = "counts", sql = "SELECT COUNT(*) FROM t a, t b, t c WHERE a.n + b.n >= c.n" }]
""")


async def test_the_server_ends_statements_after_the_deadline(kind: AnyEngine, rows: Target) -> None:
    """They have failed, are not retried and do not end the load; without the limit they end as before."""
    policy = CallerPolicy(deadline_ms=5, on_deadline=OnDeadline.KILL)
    async with driving(kind, rows, SLOW, 2) as drive:
        await drive.completes(2)
        drive.engine.set_callers(policy)
        drive.engine.set_session(time_limit_statements(policy))
        before = drive.counters.failed
        counters = await drive.until(lambda counters: counters.failed >= before + 5)
        assert set(counters.errors) <= {1969, 3024}
        assert counters.retries == 0
        drive.engine.set_callers(CallerPolicy())
        drive.engine.set_session(time_limit_statements(CallerPolicy(), was_limited=True))
        await drive.completes(4)
        failed = drive.counters.failed
        await drive.completes(4)
        assert drive.counters.failed == failed


@pytest.mark.one_flavour
async def test_unique_numbers_stay_so_across_reconnects(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, UNIQUE, 2) as drive, sbtest.connected(rows) as connection:
        for number in range(1, 4):
            await drive.completes(20)
            await connection.execute(f"KILL {drive.engine.connection_ids()[0]}")
            await drive.reconnects(number)
        drive.engine.set_connections((0,))
        await drive.until_connected(1)
        drive.engine.set_connections((0, 1))
        await drive.until_connected(2)
        await drive.completes(20)
        assert 1062 not in drive.last.counters.errors
        assert drive.last.failure.message == ""


@pytest.mark.one_flavour
async def test_what_outlasts_the_grace_is_abandoned(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, SLEEPING, 2) as drive:
        await drive.until(lambda counters: counters.in_flight == 2)
        ids = drive.engine.connection_ids()
        await drive.stop(0)
        counters = drive.counters
        assert (counters.abandoned, counters.in_flight, counters.completed) == (2, 0, 0)
    async with sbtest.connected(rows) as connection:
        for id in ids:
            with suppress(SQLError):
                await connection.execute(f"KILL {id}")


async def test_a_load_goes_on_after_a_restart(kind: AnyEngine, restartable: PrivateServer, way: str) -> None:
    made = program("""
[[transactions]]
name = "one"
autocommit = true
[[transactions.steps]]
statements = [{ name = "one", sql = "SELECT 1" }]
""")
    async with driving(kind, through(restartable.target, way), made, 3) as drive:
        await drive.until_connected(3)
        await drive.completes(20)
        await restartable.kill()
        await drive.until(lambda _: drive.last.connections == 0)
        await restartable.start_again()
        await drive.until_connected(3)
        await drive.completes(20)
        assert drive.last.failure.message == ""
        assert drive.last.counters.reconnects == 3


@pytest.mark.one_flavour
async def test_values_that_do_not_fit_are_the_profiles_fault(kind: AnyEngine, rows: Target) -> None:
    made = program("""
[[transactions]]
name = "odd"
[[transactions.steps]]
statements = [{ name = "none", sql = "SELECT n FROM t WHERE id = 0", capture = ["n"] }]
[[transactions.steps]]
let.more = "n + 1"
statements = [{ name = "more", sql = "SELECT ?", bind = ["more"] }]
""")
    async with driving(kind, rows, made, 1) as drive:
        counters = await drive.until(lambda _: drive.last.failure.message)
        assert "the transaction 'odd' cannot be computed" in drive.last.failure.message
        assert counters.failed == 1


async def test_an_idle_connection_that_is_killed_comes_back(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, READ, 2, rate=500) as drive, sbtest.connected(rows) as connection:
        await drive.until_connected(2)
        await drive.completes(5)
        for id in drive.engine.connection_ids():
            await connection.execute(f"KILL {id}")
        await drive.until(lambda counters: counters.reconnects == 2)
        await drive.completes(20)


OVERLOAD = 50_000.0
"""More transactions per second than one connection can run, so that there is always a backlog."""


@pytest.mark.one_flavour
async def test_the_backlog_of_a_pause_is_dropped_if_wanted(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, READ, 1, rate=OVERLOAD, backlog=Backlog.DROP) as drive:
        await drive.completes(10)
        drive.engine.pause()
        held = await drive.until(lambda counters: counters.in_flight == 0)
        assert held.backlog > 0
        drive.engine.resume()
        await drive.completes(10)
        assert drive.last.counters.abandoned - held.abandoned >= held.backlog


@pytest.mark.one_flavour
async def test_the_backlog_of_an_outage_is_dropped_if_wanted(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, READ, 1, rate=OVERLOAD, backlog=Backlog.DROP) as drive:
        await drive.completes(10)
        assert drive.counters.abandoned == 0
        async with sbtest.connected(rows) as connection:
            await connection.execute(f"KILL {drive.engine.connection_ids()[0]}")
        await drive.reconnects(1)
        await drive.completes(10)
        assert drive.last.counters.abandoned > 0


@pytest.mark.one_flavour
async def test_the_backlog_of_an_outage_is_kept_otherwise(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, READ, 1, rate=OVERLOAD) as drive:
        await drive.completes(10)
        async with sbtest.connected(rows) as connection:
            await connection.execute(f"KILL {drive.engine.connection_ids()[0]}")
        await drive.reconnects(1)
        await drive.completes(10)
        assert drive.last.counters.abandoned == 0
