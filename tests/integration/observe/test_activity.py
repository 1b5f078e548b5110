"""Sessions, lock waits, deadlocks and killed queries on real servers, seen by a viewer of a session."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec
import pytest

from tests.integration.support.commands import ask
from tests.integration.support.session_process import FULL_SPEED_MS, Watcher, session_spec, watched
from tuibench.base.clock import SystemClock
from tuibench.base.errors import SQLError
from tuibench.model.event import EventKind
from tuibench.model.message import KillQuery, SetThreads, Stop, Watch
from tuibench.model.server import Activity
from tuibench.mysql.connection import Connection, connect
from tuibench.mysql.info import server_info
from tuibench.observe.sessions import ActivitySampler
from tuibench.servers.server import PrivateServer

THREADS = 5


@contextlib.asynccontextmanager
async def strangers(server: PrivateServer, number: int) -> AsyncIterator[list[Connection]]:
    """Connections of somebody else, and a table of his with two rows."""
    connections = [await connect(server.target) for _ in range(number)]
    first = connections[0]
    await first.query("CREATE TABLE IF NOT EXISTS theirs (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=InnoDB")
    await first.query("REPLACE INTO theirs VALUES (1, 'a'), (2, 'b')")
    try:
        yield connections
    finally:
        for connection in connections:
            await connection.close()
        await ask(server.target, "DROP TABLE theirs")


def told(watcher: Watcher) -> Activity:
    assert watcher.activity is not None
    return watcher.activity


@pytest.mark.one_flavour
async def test_a_viewer_sees_who_is_there_who_waits_and_kills_it(tables: PrivateServer) -> None:
    spec = session_spec(tables.target, threads=THREADS)
    async with strangers(tables, 2) as (holder, waiter), watched(spec) as watcher:
        await watcher.ticks(2)
        assert watcher.activity is None
        await holder.query("BEGIN")
        await holder.query("UPDATE theirs SET v = 'secret' WHERE id = 1")
        waiting = asyncio.create_task(waiter.query("UPDATE theirs SET v = 'hidden' WHERE id = 1"))
        await watcher.submit(Watch("activity"))
        await watcher.until(
            lambda: (
                watcher.activity is not None
                and any(wait.waiting == waiter.thread_id for wait in watcher.activity.waits)
            )
        )
        activity = told(watcher)
        assert {session.id for session in activity.sessions} == {holder.thread_id, waiter.thread_id}
        assert activity.others == 2
        assert sum(own.count for own in activity.own) >= THREADS + 3
        (wait,) = [wait for wait in activity.waits if wait.waiting == waiter.thread_id]
        assert (wait.blocking, wait.table) == (holder.thread_id, "sbtest.theirs")
        assert (wait.waiting_is_ours, wait.blocking_is_ours) == (False, False)
        assert wait.waiting_statement == "UPDATE theirs SET v = ? WHERE id = ?"
        (held,) = [each for each in activity.transactions if each.connection == holder.thread_id]
        assert (held.rows_changed, held.rows_locked > 0, held.is_ours) == (1, True, False)
        assert held.seconds < 600
        assert activity.open_transactions >= 2
        assert not activity.gaps
        assert "hidden" not in msgspec.json.encode(activity).decode()

        answer = await watcher.submit(KillQuery(waiter.thread_id))
        assert (answer.ok, answer.text) == (
            True,
            f"connection {waiter.thread_id} was asked to end its query",
        )
        with pytest.raises(SQLError) as ended:
            await waiting
        assert ended.value.code == 1317
        missing = await watcher.submit(KillQuery(4_000_000))
        assert (missing.ok, "connection 4000000 no longer exists" in missing.text) == (False, True)
        assert [event.text for event in watcher.told(EventKind.KILL)] == [answer.text]

        await watcher.submit(SetThreads(THREADS + 3))
        await watcher.submit(Watch("activity"))
        await watcher.until(lambda: sum(own.count for own in told(watcher).own) >= THREADS + 6)
        await watcher.until(
            lambda: {s.id for s in told(watcher).sessions} == {holder.thread_id, waiter.thread_id}
        )
        await holder.query("ROLLBACK")
        await watcher.submit(Stop())
        summary = (await watcher.end()).summary
    assert summary.outcome == "stopped"


@pytest.mark.one_flavour
async def test_watching_is_counted_as_our_own_sampling(tables: PrivateServer) -> None:
    """The server's Questions are ours to the last one, though a viewer watched, left, and came back."""
    async with watched(session_spec(tables.target, threads=2, delay_ms=FULL_SPEED_MS)) as watcher:
        await watcher.ticks()
        for _ in range(3):
            await watcher.submit(Watch("activity"))
            await watcher.until(lambda: watcher.activity is not None)
            watcher.activity = None
            await watcher.ticks(2)
        await watcher.submit(KillQuery(4_000_000))
        await watcher.submit(Stop())
        summary = (await watcher.end()).summary
    assert summary.reconciliation.foreign == 0
    assert summary.transactions.total > 0


async def test_the_last_deadlock_is_reported(tables: PrivateServer) -> None:
    async with strangers(tables, 2) as (one, two):
        ids = {one.thread_id, two.thread_id}
        for connection, row in ((one, 1), (two, 2)):
            await connection.query("BEGIN")
            await connection.query(f"UPDATE theirs SET v = 'x' WHERE id = {row}")
        waiting = asyncio.create_task(one.query("UPDATE theirs SET v = 'y' WHERE id = 2"))
        closing = asyncio.create_task(two.query("UPDATE theirs SET v = 'y' WHERE id = 1"))
        ended = await asyncio.gather(waiting, closing, return_exceptions=True)
        assert sum(isinstance(end, SQLError) and end.code == 1213 for end in ended) == 1
        activity = await look(tables)
    assert activity.deadlock is not None
    assert {party.connection for party in activity.deadlock.parties} == ids
    assert [party.rolled_back for party in activity.deadlock.parties].count(True) == 1
    assert all(party.tables == ("sbtest.theirs",) for party in activity.deadlock.parties)
    assert {party.statement for party in activity.deadlock.parties} == {
        "UPDATE theirs SET v = ? WHERE id = ?"
    }


async def test_without_privileges_it_says_what_is_hidden(tables: PrivateServer) -> None:
    await ask(
        tables.target,
        "CREATE USER blind@localhost IDENTIFIED BY 'blind-Pass-1'",
        f"GRANT SELECT ON {tables.target.database}.* TO blind@localhost",
    )
    try:
        activity = await look(tables, user="blind", password="blind-Pass-1")
        assert [gap.partition(":")[0] for gap in activity.gaps] == [
            "lock waits",
            "open transactions",
            "the last deadlock",
        ]
        refused = await kill_refused(tables, user="blind", password="blind-Pass-1")
        assert refused in (1095, 1227)
    finally:
        await ask(tables.target, "DROP USER blind@localhost")


async def look(server: PrivateServer, **login: str) -> Activity:
    """One look, as this login."""
    async with sampling(server, **login) as sampler:
        activity = await sampler.look(set())
    assert activity is not None
    return activity


async def kill_refused(server: PrivateServer, **login: str) -> int:
    """The server's error number when this login kills somebody else's query."""
    async with strangers(server, 1) as (other,), sampling(server, **login) as sampler:
        with pytest.raises(SQLError) as refused:
            await sampler.kill(other.thread_id)
    return refused.value.code


@contextlib.asynccontextmanager
async def sampling(server: PrivateServer, **login: str) -> AsyncIterator[ActivitySampler]:
    connection = await connect(server.target)
    info = await server_info(connection)
    await connection.close()
    target = msgspec.structs.replace(server.target, **login)
    sampler = ActivitySampler(target, SystemClock(), info.flavour)
    try:
        yield sampler
    finally:
        await sampler.close()
