"""Failures on real servers: lock waits, deadlocks, servers lost under load, thousands of connections."""

import asyncio
import contextlib
import re
import resource
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest

from tests.integration.support import sbtest
from tests.integration.support.commands import Running, ask, assert_nothing_left, finished, started, tuibench
from tests.integration.support.session_process import FULL_SPEED_MS, Watcher, session_spec, watched
from tests.ticks import known
from tuibench.base import paths
from tuibench.load.tables import prepare_tables
from tuibench.model.event import EventKind
from tuibench.model.message import ApplyPreset, SetThreads, Stop
from tuibench.model.server import Target
from tuibench.model.summary import Summary
from tuibench.mysql.connection import connect
from tuibench.observe.status import RESTART_SLACK_SECONDS
from tuibench.servers.server import PrivateServer
from tuibench.tuning.journal import journal_path

DEADLOCK, LOCK_WAIT_TIMEOUT = "1213", "1205"
WORK, RECONNECTS = re.compile(r" tps: (?!0\.00 )"), re.compile(r" reconn/s: (?!0\.00$)")


@contextlib.asynccontextmanager
async def locks_held(target: Target, table: str, row: int) -> AsyncIterator[None]:
    """Somebody else holds a row's lock, and everybody's patience with locks is one second."""
    other = await connect(target)
    ((patience,),) = await other.query("SELECT @@GLOBAL.innodb_lock_wait_timeout")
    await other.query("SET GLOBAL innodb_lock_wait_timeout = 1")
    await other.query("BEGIN")
    await other.query(f"SELECT id FROM {table} WHERE id = {row} FOR UPDATE")
    try:
        yield
    finally:
        await other.query("ROLLBACK")
        await other.query(f"SET GLOBAL innodb_lock_wait_timeout = {patience}")
        await other.close()


def failed(watcher: Watcher, code: str) -> bool:
    """True once a transaction has failed with this error."""
    return any(code in load.counts("error.") for load in watcher.loads)


async def make_tables(target: Target, rows: int = 500) -> None:
    await prepare_tables(target, sbtest.program(table_size=rows))


@pytest.mark.one_flavour
async def test_no_row_is_lost_to_deadlocks_and_lock_wait_timeouts(database: Target) -> None:
    await make_tables(database, rows=50)
    spec = session_spec(database, threads=16, delay_ms=FULL_SPEED_MS, table_size=50, rand_type="uniform")
    async with contextlib.AsyncExitStack() as locks:
        await locks.enter_async_context(locks_held(database, "sbtest1", 25))
        async with watched(spec) as watcher:
            await watcher.until(lambda: failed(watcher, LOCK_WAIT_TIMEOUT))
            await watcher.until(lambda: bool(watcher.told(EventKind.ERRORS)))
            await locks.aclose()
            await watcher.until(lambda: failed(watcher, DEADLOCK))
            await watcher.submit(Stop())
            summary = (await watcher.end()).summary
    assert summary.errors.by_code[DEADLOCK] > 0
    assert summary.errors.by_code[LOCK_WAIT_TIMEOUT] > 0
    assert summary.errors.total == sum(summary.errors.by_code.values())
    assert summary.retries > 0
    assert summary.transactions.total > 0
    counted = "SELECT COUNT(*), COUNT(DISTINCT id), MIN(id), MAX(id) FROM"
    assert await ask(database, f"{counted} sbtest1") == [(50, 50, 1, 50)]
    assert await ask(database, f"{counted} sbtest2") == [(50, 50, 1, 50)]


@pytest.mark.one_flavour
@pytest.mark.one_flavour
async def test_the_load_resumes_after_each_restart(restartable: PrivateServer, tuibench_home: Path) -> None:
    await make_tables(restartable.target)
    async with watched(session_spec(restartable.target, threads=4)) as watcher:
        await watcher.ticks(2)
        await restartable.kill()
        await watcher.until(lambda: watcher.samples[-1].server is None)
        await restartable.start_again()
        await works_again(watcher, restarts=1)
        await watcher.until(lambda: is_old_enough(watcher))
        assert (await watcher.submit(ApplyPreset("unsafe"))).ok
        await restartable.restart()
        await works_again(watcher, restarts=2)
        await watcher.until(lambda: len(watcher.told(EventKind.RESTORE)) == 2)
        assert [event.text for event in watcher.told(EventKind.RESTORE)] == [
            "innodb_flush_log_at_trx_commit is 1 again, as before tuibench",
            "sync_binlog is 1 again, as before tuibench",
        ]
        assert not journal_path(watcher.hello.session).exists()
        await watcher.submit(Stop())
        ended = await watcher.end()
    assert ended.summary.outcome == "stopped"
    assert ended.summary.reconnects >= 8
    assert ended.summary.reconciliation.foreign is None
    for table in ("sbtest1", "sbtest2"):
        assert await ask(restartable.target, f"SELECT COUNT(*) FROM {table}") == [(500,)]
    assert_nothing_left(tuibench_home)


def is_old_enough(watcher: Watcher) -> bool:
    """Whether the server has lived so long that its next life can be told from this one."""
    server = watcher.samples[-1].server
    return server is not None and (server.levels.get("Uptime") or 0) > RESTART_SLACK_SECONDS


async def works_again(watcher: Watcher, restarts: int) -> None:
    """Waits until the session has noticed the restart and all connections are back at work."""
    await watcher.until(lambda: len(watcher.told(EventKind.RESTART)) == restarts)
    await watcher.until(lambda: known("open_connections", watcher.loads[-1]) == 4)
    await watcher.works()


async def test_a_run_without_a_screen_survives_a_restart(any_restartable: PrivateServer) -> None:
    await make_tables(any_restartable.target)
    options = (
        "--tables=2",
        "--table-size=500",
        "--threads=4",
        "--client-delay=2ms",
        "--time=0",
        "--interval=0.5",
        "--report-interval=0.5",
    )
    with started("run", "oltp_read_write", *options, target=any_restartable.target) as process:
        await asyncio.to_thread(shows, process, WORK)
        await any_restartable.restart()
        await asyncio.to_thread(shows, process, RECONNECTS)
        await asyncio.to_thread(shows, process, WORK)
        process.send_signal(signal.SIGINT)
        ended = await asyncio.to_thread(finished, process)
    assert ended.code == 130
    assert "the server was restarted" in ended.err
    (record,) = paths.runs_dir().iterdir()
    summary = msgspec.json.decode((record / "summary.json").read_bytes(), type=Summary)
    assert summary.reconnects >= 4


def shows(process: Running, figure: re.Pattern[str]) -> None:
    """Reads interval lines until one of them shows it."""
    assert any(figure.search(line) for line in process.stdout), finished(process)


async def test_a_run_ends_in_order_on_a_server_that_stays_away(any_restartable: PrivateServer) -> None:
    await make_tables(any_restartable.target)
    options = (
        "--tables=2",
        "--table-size=500",
        "--threads=4",
        "--client-delay=2ms",
        "--time=2",
        "--interval=0.5",
        "--report-interval=0.5",
    )
    with started("run", "oltp_read_write", *options, target=any_restartable.target) as process:
        await asyncio.to_thread(shows, process, WORK)
        await any_restartable.kill()
        ended = await asyncio.to_thread(finished, process)
    await any_restartable.start_again()
    assert ended.code == 0
    assert "does not answer" in ended.err
    assert "SQL statistics:" in ended.out
    assert "Traceback" not in ended.err


async def test_a_run_without_a_single_connection_has_no_summary(
    tables: PrivateServer, tuibench_home: Path
) -> None:
    """The account may have three at a time: one has somebody, the others our sampler and our settings."""
    await ask(
        tables.target,
        "CREATE USER lonely@localhost IDENTIFIED BY 'pass' WITH MAX_USER_CONNECTIONS 3",
        f"GRANT ALL ON {tables.target.database}.* TO lonely@localhost",
    )
    lonely = msgspec.structs.replace(tables.target, user="lonely", password="pass")
    options = ("--tables=2", "--table-size=500", "--time=1")
    async with sbtest.connected(lonely):
        done = await asyncio.to_thread(tuibench, "run", "oltp_read_write", *options, target=lonely)
    await ask(tables.target, "DROP USER lonely@localhost")
    assert done.code == 1
    assert "Threads started!" not in done.out
    assert "SQL statistics" not in done.out
    assert "1 of the same user, the account may have 3 (its MAX_USER_CONNECTIONS): up to 3 will" in done.err
    remedy = "ALTER USER … WITH MAX_USER_CONNECTIONS gives the account more"
    last = done.err.splitlines()[-1]
    assert last == f"tuibench: the server refused every connection ({remedy})"
    assert_nothing_left(tuibench_home)


@pytest.fixture
def usual_file_limit() -> Iterator[None]:
    """A program is mostly started with 1024 open files, and may have more."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.whole
@pytest.mark.usefixtures("usual_file_limit")
async def test_two_thousand_connections(mariadb: PrivateServer) -> None:
    async with sbtest.empty_database(mariadb.target, "crowded") as target:
        await make_tables(target)
        await crowd(target)


async def crowd(target: Target) -> None:
    """Two thousand threads, then ten."""
    spec = session_spec(target, "oltp_point_select", threads=2000, interval_seconds=1, delay_ms=500)
    async with watched(spec) as watcher:
        await watcher.works()
        counted = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'tuibench'"
        ((connected,),) = await ask(target, counted)
        assert connected >= 2000
        assert (await watcher.submit(SetThreads(10))).ok
        await watcher.until(lambda: known("open_connections", watcher.loads[-1]) == 10)
        await watcher.works()
        await watcher.submit(Stop())
        summary = (await watcher.end()).summary
    assert {2000, 10} <= {known("open_connections", load) for load in watcher.loads}
    assert summary.errors.total == 0
    assert summary.reconnects == 0
    assert summary.reconciliation.commits_client == 0
