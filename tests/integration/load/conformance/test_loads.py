"""What a load does while nothing goes wrong."""

import asyncio
import time
from contextlib import suppress

import msgspec
import pytest

from tests.integration.load.conformance.driving import AnyEngine, Drive, driving, program
from tests.integration.support import sbtest
from tuibench.base.clock import NS_PER_MS
from tuibench.base.errors import SQLError
from tuibench.load.messages import Counters, Finished, Reassign
from tuibench.model.callers import Backoff, Breaker, CallerPolicy, QueueOrder
from tuibench.model.plan import Arrival, OnError
from tuibench.model.server import Endpoint, Target
from tuibench.model.tick import LOGIN
from tuibench.mysql.connection import Connection
from tuibench.workload.program import Turns

READ = program("""
[[transactions]]
name = "read"
autocommit = true
[[transactions.steps]]
let.id = { make = "uniform", high = 100 }
statements = [{ name = "select", sql = "SELECT n FROM t WHERE id = ?", bind = ["id"] }]
""")

BOTH = program("""
[[transactions]]
name = "read"
autocommit = true
[[transactions.steps]]
let.id = { make = "uniform", high = 100 }
statements = [{ name = "select", sql = "SELECT n FROM t WHERE id = ?", bind = ["id"] }]

[[transactions]]
name = "write"
[[transactions.steps]]
let.id = { make = "uniform", high = 100 }
statements = [
    { name = "look", sql = "SELECT n FROM t WHERE id = ? FOR UPDATE", bind = ["id"], capture = ["n"] },
    { name = "update", sql = "UPDATE t SET n = ? WHERE id = ?", bind = ["n + 1", "id"] },
]
""")


async def test_a_limit_is_reached_exactly(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, BOTH, 5, limit=200) as drive:
        await asyncio.wait_for(drive.engine.finished.wait(), 60)
        counters = await drive.until(lambda counters: counters.completed == 200)
        assert (counters.scheduled, counters.in_flight, drive.last.connections) == (200, 0, 0)
        assert drive.transactions.count == 200
        assert sum(drive.kinds.values()) == 200
        assert drive.told == [Finished(1)]


async def test_what_is_captured_is_written_back(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, BOTH, 4, limit=300) as drive:
        await drive.until(lambda counters: counters.completed == 300)
        async with sbtest.connected(rows) as connection:
            ((total,),) = await connection.query("SELECT SUM(n) FROM t")
        assert int(total) == drive.last.counters.commits == drive.kinds["write"]


async def test_the_server_counts_as_many_questions(kind: AnyEngine, rows: Target) -> None:
    async with sbtest.connected(rows) as connection:
        await sbtest.until_sessions_end(connection, rows.database)
        before = await _questions(connection)
        async with driving(kind, rows, BOTH, 3) as drive:
            await drive.completes(50)
            counters = await drive.ends()
        while await _has_threads_of_others(connection):
            before += 1
        after = await _questions(connection)
    assert after - before - 2 == counters.questions


async def _questions(connection: Connection) -> int:
    return int((await connection.query("SHOW GLOBAL STATUS LIKE 'Questions'"))[0][1])


async def _has_threads_of_others(connection: Connection) -> bool:
    """Whether the server still has other sessions of this database: it counts a goodbye when it reads it."""
    sql = "SELECT 1 FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
    return bool(await connection.query(sql))


@pytest.mark.one_flavour
async def test_a_paced_load_starts_what_is_due(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, READ, 3, rate=2000, arrival=Arrival.CONSTANT, limit=100) as drive:
        counters = await drive.until(lambda counters: counters.completed == 100)
        assert (counters.scheduled, counters.backlog) == (100, 0)
        assert drive.service.count == drive.transactions.count == 100
        assert drive.service.sum_us <= drive.transactions.sum_us


@pytest.mark.one_flavour
async def test_a_closed_loop_follows_on_a_paced_one(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, READ, 2, rate=0.001) as drive:
        await drive.until_connected(2)
        drive.engine.set_rate(0)
        await drive.completes(20)
        drive.engine.set_rate(500)
        await drive.completes(20)


@pytest.mark.one_flavour
async def test_while_paused_nothing_starts(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, READ, 3) as drive:
        await drive.completes(10)
        drive.engine.pause()
        held = await drive.until(lambda counters: counters.in_flight == 0)
        async with sbtest.connected(rows) as connection:
            await connection.query("SELECT SLEEP(0.2)")
        assert drive.counters.scheduled == held.scheduled
        drive.engine.resume()
        await drive.completes(10)


@pytest.mark.one_flavour
async def test_weights_change_on_the_way(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, BOTH, 2) as drive:
        await drive.completes(20)
        drive.engine.pause()
        await drive.until(lambda counters: counters.in_flight == 0)
        drive.engine.set_weights((0.0, 1.0))
        reads, writes = drive.kinds.get("read", 0), drive.kinds.get("write", 0)
        drive.engine.resume()
        await drive.completes(20)
        assert drive.kinds.get("read", 0) == reads
        assert drive.kinds["write"] >= writes + 20


@pytest.mark.one_flavour
async def test_answers_are_delayed(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, READ, 2) as drive:
        drive.engine.pause()
        drive.engine.set_delay(20 * NS_PER_MS)
        await drive.until_connected(2)
        drive.report()
        drive.transactions.count = drive.transactions.min_us = 0
        drive.engine.resume()
        await drive.completes(4)
        assert drive.statements["select"].count >= 4
        assert drive.last.hist("response").count == 0 or drive.last.hist("response").min_us >= 20_000


@pytest.mark.one_flavour
async def test_a_transaction_is_good_or_late_while_there_is_a_deadline(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, READ, 2) as drive:
        drive.engine.set_delay(5 * NS_PER_MS)
        await drive.completes(4)
        assert (drive.last.counters.good, drive.last.counters.late) == (0, 0)
        before = await _with_deadline(drive, 4.0)
        await drive.completes(4)
        passed = await _with_deadline(drive, 3_600_000.0)
        assert passed.late == passed.completed - before.completed
        await drive.completes(4)
        after = await _with_deadline(drive, 0.0)
        assert after.good == after.completed - passed.completed
        assert (before.good, before.late, passed.good, after.late) == (0, 0, 0, passed.late)
        await drive.completes(4)
        assert (drive.last.counters.good, drive.last.counters.late) == (after.good, after.late)


@pytest.mark.one_flavour
@pytest.mark.parametrize("queue", QueueOrder)
async def test_callers_send_again_and_everything_is_accounted_for(
    kind: AnyEngine, rows: Target, queue: QueueOrder
) -> None:
    async with driving(kind, rows, READ, 2, rate=400) as drive:
        # Capacity: 200 per second.
        drive.engine.set_delay(10 * NS_PER_MS)
        drive.engine.set_callers(CallerPolicy(deadline_ms=40, attempts=3, backoff=Backoff(5, 2), queue=queue))
        await drive.until(lambda counters: counters.resent > 50 and counters.completed > 50)
        drive.engine.set_callers(CallerPolicy(deadline_ms=40, queue=queue, breaker=Breaker(50, 60)))
        before = drive.counters
        await drive.until(lambda counters: counters.abandoned > before.abandoned + 20)
        counters = await drive.ends()
        assert 0 < counters.good + counters.late <= counters.completed
        assert (counters.in_flight, counters.backlog) == (0, 0)


async def _with_deadline(drive: Drive, milliseconds: float) -> Counters:
    """Sets the deadline while no transaction is in flight; the counters at that time."""
    drive.engine.pause()
    counters = await drive.until(lambda counters: counters.in_flight == 0)
    drive.engine.set_callers(CallerPolicy(deadline_ms=milliseconds))
    drive.engine.resume()
    return counters


@pytest.mark.one_flavour
async def test_the_slowest_transactions_are_reported_with_their_statements(
    kind: AnyEngine, rows: Target
) -> None:
    async with driving(kind, rows, BOTH, 2) as drive:
        drive.engine.set_delay(2 * NS_PER_MS)
        await drive.until(lambda counters: bool(counters.completed and drive.last.slowest))
        slow = drive.last.slowest[0]
        assert slow.transaction in ("read", "write")
        names = {each.name for each in slow.statements}
        assert names <= drive.statements.keys()
        assert all(2 * each.count <= each.ms <= slow.service_ms for each in slow.statements)
        assert slow.response_ms == slow.service_ms == drive.last.hist("response").max_us / 1000


@pytest.mark.one_flavour
async def test_connections_come_and_go(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, READ, 2) as drive:
        await drive.completes(10)
        drive.engine.set_connections(range(6))
        await drive.until_connected(6)
        assert len(set(drive.engine.connection_ids())) == 6
        drive.engine.set_connections((0, 5))
        await drive.until_connected(2)
        await drive.completes(10)
        assert drive.last.counters.errors == {}


@pytest.mark.one_flavour
async def test_more_connections_than_threads_share_them(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, READ, 100) as drive:
        drive.engine.set_delay(20 * NS_PER_MS)
        await drive.until_connected(100)
        await drive.completes(500)
        drive.engine.set_connections(range(3))
        await drive.until_connected(3)


async def test_session_settings_reach_every_connection(kind: AnyEngine, rows: Target) -> None:
    made = program("""
[[transactions]]
name = "note"
autocommit = true
[[transactions.steps]]
let.id = { make = "unique" }
statements = [{ name = "insert", sql = "INSERT INTO u VALUES (?, @mark)", bind = ["id"], prepared = false }]
""")
    async with driving(kind, rows, made, 3, ignored_errors=None) as drive:
        drive.engine.set_session(("SET @mark = 7",))
        await drive.until_connected(3)
        await drive.completes(10)
        drive.engine.set_session(("SET @mark = 8",))
        await drive.completes(30)
    async with sbtest.connected(rows) as connection:
        marks = {row[0] for row in await connection.query("SELECT DISTINCT mark FROM u")}
    assert marks == {7, 8}


@pytest.mark.one_flavour
async def test_figures_of_connections_count_from_a_checkpoint(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, READ, 2) as drive:
        await drive.completes(20)
        drive.engine.pause()
        await drive.until(lambda counters: counters.in_flight == 0)
        assert drive.report().fairness.events == drive.last.counters.completed
        drive.engine.checkpoint()
        assert (drive.report().fairness_since.events, drive.last.fairness_since.n) == (0, 2)
        drive.engine.resume()
        await drive.completes(5)
        assert 0 < drive.last.fairness_since.events < drive.last.fairness.events


@pytest.mark.one_flavour
async def test_figures_begin_again_with_the_measurement(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, READ, 2) as drive:
        await drive.completes(20)
        drive.engine.reset_stats(limit=10)
        await asyncio.wait_for(drive.engine.finished.wait(), 60)
        report = drive.report()
        assert 10 <= report.fairness.events <= 12


@pytest.mark.one_flavour
async def test_work_without_connections_is_handed_over(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, READ, 0, limit=30) as drive:
        assert [work.quota for work in drive.told if isinstance(work, Reassign)] == [30]
        async with driving(kind, rows, READ, 1, limit=0) as other:
            (work,) = (work for work in drive.told if isinstance(work, Reassign))
            other.engine.take_over(work)
            await other.until(lambda counters: counters.completed == 30)


async def test_statements_may_all_be_sent_as_text(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, BOTH, 2, limit=60, prepared=False) as drive:
        counters = await drive.until(lambda counters: counters.completed == 60)
        assert counters.writes == counters.commits == drive.kinds["write"]


@pytest.mark.one_flavour
async def test_turns_come_in_their_order_with_new_logins_in_between(kind: AnyEngine, rows: Target) -> None:
    turns = Turns(cycle=(0, 1, 0), count=7, ending=(1,), reconnect_at=frozenset({1}))
    in_turns = msgspec.structs.replace(BOTH, turns=turns)
    async with driving(kind, rows, in_turns, 3) as drive:
        counters = await drive.until(lambda counters: counters.completed == 3 * turns.total)
        await drive.until_connected(0)
        assert drive.kinds == {"read": 3 * 5, "write": 3 * 3}
        assert (counters.reconnects, counters.errors, drive.last.failure.message) == (3 * 2, {}, "")


@pytest.mark.one_flavour
async def test_connections_use_several_servers_in_turn(kind: AnyEngine, rows: Target) -> None:
    further = (Endpoint(host="127.0.0.1", port=rows.port),)
    async with driving(kind, msgspec.structs.replace(rows, further=further), READ, 4) as drive:
        await drive.until_connected(4)
        await drive.completes(40)
        ids = ",".join(map(str, drive.engine.connection_ids()))
        async with sbtest.connected(rows) as connection:
            sql = f"SELECT host FROM information_schema.processlist WHERE id IN ({ids})"
            hosts = [str(host).partition(":")[0] for (host,) in await connection.query(sql)]
    assert len(hosts) == 4
    assert hosts.count(hosts[0]) == 2, hosts


@pytest.mark.one_flavour
async def test_a_connection_logs_in_again_after_so_many_transactions(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, BOTH, 3, limit=200, reconnect=7) as drive:
        counters = await drive.until(lambda counters: counters.completed == 200)
        shares = [200 // 3 // 7, 200 // 7]
        assert shares[0] <= counters.logins <= shares[1], counters.logins
        assert (counters.reconnects, counters.failed, drive.last.failure.message) == (0, 0, "")
        assert drive.hist(LOGIN).count == counters.logins


@pytest.mark.one_flavour
async def test_new_session_settings_do_not_delay_a_planned_login(kind: AnyEngine, rows: Target) -> None:
    """The connection returns for them, and keeps its number of transactions."""
    async with driving(kind, rows, READ, 1, limit=1_050, reconnect=1_000) as drive:
        for number in range(1, 4):
            await drive.completes(50)
            drive.engine.set_session((f"SET @number = {number}",))
        counters = await drive.until(lambda counters: counters.completed == 1_050)
        assert counters.logins == 1


@pytest.mark.one_flavour
async def test_users_share_the_connections(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, BOTH, 2, limit=300, users=7) as drive:
        while not drive.engine.finished.is_set():
            counters = drive.counters
            assert counters.in_flight <= 2
            assert counters.in_flight + counters.backlog <= 7
            await asyncio.sleep(0)
        assert (drive.counters.completed, drive.waits.count) == (300, 300)
        assert drive.waits.sum_us > drive.service.sum_us
        assert drive.transactions.sum_us >= drive.waits.sum_us


@pytest.mark.one_flavour
async def test_users_think_in_their_own_time(kind: AnyEngine, rows: Target) -> None:
    """Two connections are enough for thirty users who think for most of the time."""
    (read,) = READ.transactions
    thinking = msgspec.structs.replace(read, keying_seconds=0.05, think_seconds=0.15)
    async with driving(
        kind, rows, msgspec.structs.replace(READ, transactions=(thinking,)), 2, users=30
    ) as drive:
        await drive.completes(30)
        began = time.monotonic()
        counters = await drive.until(lambda counters: counters.completed >= 330)
        seconds = time.monotonic() - began
        assert seconds > 300 / 30 * 0.05
        assert counters.in_flight + counters.backlog <= 30


@pytest.mark.one_flavour
async def test_users_of_lost_and_renewed_connections_ask_again(kind: AnyEngine, rows: Target) -> None:
    async with driving(kind, rows, READ, 3, users=5, reconnect=20, on_error=OnError.CONTINUE) as drive:
        for _ in range(3):
            await drive.completes(50)
            async with sbtest.connected(rows) as connection:
                await drive.until(lambda _: drive.engine.connection_ids())
                with suppress(SQLError):
                    await connection.execute(f"KILL {drive.engine.connection_ids()[0]}")
        drive.engine.set_users(2)
        await drive.completes(30)
        await drive.until(lambda counters: counters.in_flight + counters.backlog <= 2)
        drive.engine.pause()
        await drive.until(lambda counters: counters.in_flight == 0)
        drive.engine.resume()
        drive.engine.set_users(4)
        await drive.completes(100)
        drive.engine.set_users(0)
        await drive.completes(50)
        assert drive.last.failure.message == ""
