"""A session behind its socket, on real servers: steered live, and watched by several."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec
import pytest

from tests.integration.support.commands import ask, assert_nothing_left, eventually, eventually_asked, ours
from tests.integration.support.session_process import (
    DURABILITY,
    DURABLE,
    SERVICE,
    UNSAFE,
    Watcher,
    join,
    session_spec,
    watched,
)
from tests.ticks import known
from tuibench.base import paths
from tuibench.model.event import EventKind
from tuibench.model.message import (
    ApplyPreset,
    ChangeSetting,
    Command,
    Mark,
    Pause,
    ResetStats,
    Resume,
    RunState,
    SetDelay,
    SetThreads,
    Stop,
)
from tuibench.model.summary import Summary
from tuibench.model.tick import Tick
from tuibench.mysql.connection import connect
from tuibench.servers.server import PrivateServer
from tuibench.tuning.journal import journal_path


def transactions(loads: Sequence[Tick]) -> int:
    """The transactions that a viewer has seen."""
    return round(sum(known("tps", load) * load.seconds for load in loads))


@pytest.fixture
async def watcher(tables: PrivateServer) -> AsyncIterator[Watcher]:
    """Watches a session with two threads that runs already; a test may end it or leave that to us."""
    async with watching(tables) as watcher:
        yield watcher


@pytest.fixture
async def any_watcher(any_tables: PrivateServer) -> AsyncIterator[Watcher]:
    """The same on one flavour, for what has nothing to do with the server."""
    async with watching(any_tables) as watcher:
        yield watcher


@contextlib.asynccontextmanager
async def watching(server: PrivateServer) -> AsyncIterator[Watcher]:
    async with watched(session_spec(server.target)) as watcher:
        await watcher.ticks()
        yield watcher
        if watcher.ended is None:
            await watcher.submit(Stop())
            await watcher.end()


# Settings


@pytest.mark.one_flavour
async def test_a_preset_and_a_setting_are_confirmed_logged_and_in_force_and_a_wrong_one_refused(
    tables: PrivateServer, watcher: Watcher
) -> None:
    answer = await watcher.submit(ApplyPreset("unsafe"))
    assert (answer.ok, answer.text) == (True, "preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0")
    assert await ask(tables.target, DURABILITY) == [UNSAFE]
    await watcher.until(lambda: bool(watcher.told(EventKind.SETTING)))
    (event,) = watcher.told(EventKind.SETTING)
    assert (event.text, event.marker) == (answer.text, 1)
    await watcher.until(lambda: all(state.at_risk for state in watcher.status.settings[:2]))
    values = {state.name: (state.original, state.value) for state in watcher.status.settings}
    assert values["sync_binlog"] == values["innodb_flush_log_at_trx_commit"] == ("1", "0")
    assert journal_path(watcher.hello.session).exists()

    answer = await watcher.submit(ChangeSetting("sync_binlog", "17"))
    assert answer.ok, answer.text
    assert await ask(tables.target, "SELECT @@sync_binlog") == [(17,)]
    refused = [
        await watcher.submit(ChangeSetting("sync_binlogs", "1")),
        await watcher.submit(ChangeSetting("sync_binlog", "many")),
        await watcher.submit(ApplyPreset("save")),
    ]
    assert not any(answer.ok for answer in refused)
    assert "sync_binlog" in refused[0].text
    assert await ask(tables.target, "SELECT @@sync_binlog") == [(17,)]
    await watcher.until(lambda: len(watcher.told(EventKind.SETTING)) == 2)
    await watcher.ticks()
    assert len(watcher.told(EventKind.SETTING)) == 2


# Threads, pause and marks


@pytest.mark.one_flavour
async def test_threads_follow_while_the_others_go_on(tables: PrivateServer, watcher: Watcher) -> None:
    def connected(threads: int) -> bool:
        last = watcher.samples[-1]
        return (
            last.load is not None
            and last.server is not None
            and known("open_connections", last.load) == threads
            and threads <= (known("threads_connected", last.server) or 0) < threads + 10
        )

    done = [0]
    for threads in (1, 60, 3):
        await watcher.submit(SetDelay(max(2.0, threads / 10)))
        answer = await watcher.submit(SetThreads(threads))
        assert (answer.ok, answer.text) == (True, f"threads: {threads}")
        await watcher.until(lambda threads=threads: connected(threads))  # type: ignore[misc]
        done.append(transactions(watcher.loads))
    assert done == sorted(set(done)), "the load stood still while threads came or went"
    assert watcher.status.threads == 3
    assert [event.text for event in watcher.told(EventKind.THREADS)] == [
        "threads 2 → 1",
        "threads 1 → 60",
        "threads 60 → 3",
    ]
    for wrong in (0, -1, 1_000_000):
        assert not (await watcher.submit(SetThreads(wrong))).ok
    assert watcher.status.threads == 3


@pytest.mark.one_flavour
async def test_what_the_server_lets_in_goes_on(tables: PrivateServer, watcher: Watcher) -> None:
    admin = await connect(tables.target)
    ((most,),) = await admin.query("SELECT @@max_connections")
    await admin.query("SET GLOBAL max_connections = 20")
    try:
        assert (await watcher.submit(SetThreads(50))).ok
        await watcher.until(lambda: len(watcher.told(EventKind.THREADS)) == 2)
        assert "too many connections (error 1040" in watcher.told(EventKind.THREADS)[1].text
        await watcher.ticks(2)
        assert 10 <= watcher.status.threads <= 20
        assert known("open_connections", watcher.loads[-1]) == watcher.status.threads
        await watcher.works()
    finally:
        await admin.query(f"SET GLOBAL max_connections = {most}")
        await admin.close()


async def test_nothing_runs_while_paused(any_watcher: Watcher) -> None:
    watcher = any_watcher
    assert (await watcher.submit(Pause())).text == "paused"
    await watcher.until(lambda: known("tps", watcher.loads[-1]) == 0)
    assert watcher.status.state is RunState.PAUSED
    held = len(watcher.loads)
    await watcher.ticks(2)
    assert [known("tps", load) for load in watcher.loads[held:]] == [0, 0]
    assert known("open_connections", watcher.loads[-1]) == 2
    assert (await watcher.submit(Pause())).text == "already paused"
    assert (await watcher.submit(Resume())).text == "resumed"
    await watcher.works()
    assert [event.kind for event in watcher.events if event.marker] == [EventKind.PAUSE, EventKind.RESUME]
    await watcher.submit(Pause())
    await watcher.submit(Stop())
    assert (await watcher.end()).summary.outcome == "stopped"


@pytest.mark.one_flavour
async def test_statistics_reconcile_after_a_reset(tables: PrivateServer, watcher: Watcher) -> None:
    """Client and server count from the same transaction, though the load was never away."""
    await watcher.submit(SetThreads(8))
    await watcher.ticks(2)
    assert (await watcher.submit(ResetStats())).ok
    await watcher.ticks(6)
    await watcher.submit(Stop())
    ended = await watcher.end()
    (reset,) = [event for event in watcher.events if event.kind is EventKind.RESET]
    summary = ended.summary
    assert 1.0 < summary.seconds < watcher.events[-1].elapsed_seconds - reset.elapsed_seconds + 1.0
    assert summary.reconciliation.foreign == 0
    assert summary.reconciliation.commits_client == summary.reconciliation.commits_server
    assert summary.scheduled == summary.transactions.total + summary.failed + summary.abandoned
    assert summary.latency_ms is not None
    assert summary.latency_ms.count == summary.transactions.total
    assert f"transactions:                        {summary.transactions.total} " in ended.text
    totals = [transactions(watcher.loads[:count]) for count in range(1, len(watcher.loads) + 1)]
    assert totals == sorted(totals)
    assert totals[-1] > summary.transactions.total


# Viewers


async def test_all_viewers_hear_the_same(any_watcher: Watcher) -> None:
    watcher = any_watcher
    socket = paths.runtime_dir() / f"{watcher.hello.session}.sock"
    assert socket.stat().st_mode & 0o777 == 0o600
    await watcher.submit(Mark("only the first hears this live"))
    second = await join(socket, watcher.directory)
    assert [event.text for event in second.hello.events][-1] == "only the first hears this live"
    assert second.hello.samples
    commands: tuple[tuple[Watcher, Command], ...] = (
        (watcher, Mark("from the first")),
        (second, Mark()),
        (second, SetThreads(4)),
        (watcher, Stop()),
    )
    for viewer, command in commands:
        assert (await viewer.submit(command)).ok
    ends = await asyncio.gather(watcher.end(), second.end())
    assert ends[0] == ends[1]
    assert second.events == watcher.events[-len(second.events) :]
    marks = [("only the first hears this live", 1), ("from the first", 2), ("mark", 3)]
    assert [(event.text, event.marker) for event in watcher.told(EventKind.MARK)] == marks
    assert {"from the first", "mark", "threads 2 → 4"} <= {event.text for event in second.events}
    await second.close()


@pytest.mark.one_flavour
async def test_a_session_outlives_its_viewer_by_the_grace_only(
    any_tables: PrivateServer, tuibench_home: Path
) -> None:
    spec = session_spec(any_tables.target)
    async with watched(spec, grace_seconds=1.0) as watcher:
        await watcher.ticks()
        assert (await watcher.submit(ApplyPreset("unsafe"))).ok
        await watcher.close()
        assert SERVICE in ours(tuibench_home).values()
        assert await eventually_asked(any_tables.target, DURABILITY, DURABLE)
    assert_nothing_left(tuibench_home)
    summary = msgspec.json.decode((watcher.directory / "summary.json").read_bytes(), type=Summary)
    assert summary.outcome == "stopped"
    assert summary.seconds > 1.0
    assert summary.reconciliation.commits_client == summary.transactions.total


async def test_a_viewer_that_comes_back_saves_the_session(any_tables: PrivateServer) -> None:
    spec = session_spec(any_tables.target)
    async with watched(spec, grace_seconds=1.0) as watcher:
        await watcher.ticks()
        await watcher.close()
        again = await join(paths.runtime_dir() / f"{spec.session}.sock", watcher.directory)
        await again.ticks(6)
        assert again.status.state is RunState.RUNNING
        await again.submit(Stop())
        await again.end()
        await again.close()


@pytest.mark.one_flavour
async def test_the_workload_leaves_the_binary_log_and_comes_back(
    watcher: Watcher, tables: PrivateServer
) -> None:
    """Open connections follow at once, new ones at their login; nobody else has it."""
    assert (await watcher.submit(ChangeSetting("sql_log_bin", "off"))).ok
    assert (await watcher.submit(ChangeSetting("transaction_isolation", "read committed"))).ok
    assert (await watcher.submit(SetThreads(4))).ok
    await watcher.ticks(2)
    before, done = await binlog_end(tables), transactions(watcher.loads)

    async def grown() -> bool:
        return await binlog_end(tables) > before

    await watcher.until(lambda: transactions(watcher.loads) > done + 50)
    assert await binlog_end(tables) == before
    assert (await watcher.submit(ChangeSetting("sql_log_bin", "on"))).ok
    assert await eventually(grown)
    assert [event.text for event in watcher.told(EventKind.SETTING)] == [
        "sql_log_bin ON → OFF",
        "transaction_isolation REPEATABLE-READ → READ-COMMITTED",
        "sql_log_bin OFF → ON",
    ]
    assert (await watcher.submit(Stop())).ok
    ended = await watcher.end()
    assert ended.exit_code == 0
    assert set(ended.summary.errors.by_code) <= {"1213", "1020"}
    assert ended.summary.reconciliation.foreign is not None


async def binlog_end(server: PrivateServer) -> tuple[str, int]:
    """The file and the place in it that the binary log has got to."""
    file, size, *_ = (await ask(server.target, "SHOW BINARY LOGS"))[-1]
    return str(file), int(size)
