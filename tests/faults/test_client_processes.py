"""Our own processes are stopped under load and go on: the run is alive, and what it says holds.

What becomes of a run whose processes are killed: test_signals (session, run), test_lost_workers (worker),
test_chaos (guardian) and test_viewers (viewer) in tests/integration.
"""

import asyncio
import itertools
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from tests.faults.load import GUARDIAN, WORKER, Report, fault_spec, loaded, pid_of
from tests.integration.support.commands import ask, assert_nothing_left
from tests.integration.support.session_process import DURABILITY, DURABLE, UNSAFE
from tests.ticks import known
from tuibench.base.errors import SQLError
from tuibench.model.message import ApplyPreset
from tuibench.servers.server import PrivateServer

STOPPED_SECONDS = 1.5
SLOTS = 40
"""Descriptors that a worker keeps: far too few for its connections."""


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def test_a_stopped_worker(any_tables: PrivateServer, tuibench_home: Path, report: Report) -> None:
    """The session goes on to tick: gaps in the load's figures, none in the server's."""
    async with loaded(fault_spec(any_tables.target)) as load:
        with stopped(pid_of(tuibench_home, WORKER)):
            await load.watcher.until(lambda: load.watcher.samples[-1].load is None)
            assert load.watcher.samples[-1].server is not None
        report("worker stopped, continued", await load.recovery_seconds())
        summary = await load.stop()
    assert summary.reconnects == 0
    assert summary.reconciliation.foreign == 0
    await asyncio.to_thread(assert_nothing_left, tuibench_home)


async def test_a_stopped_session(any_tables: PrivateServer, tuibench_home: Path, report: Report) -> None:
    """The load goes on without it; it takes up its ticks where they are due, not those it missed."""
    counted = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Com_commit'"
    async with loaded(fault_spec(any_tables.target)) as load:
        heard = load.watcher.samples[-1].number
        with stopped(load.watcher.pid):
            ((before,),) = await ask(any_tables.target, counted)
            await asyncio.sleep(STOPPED_SECONDS)
            ((after,),) = await ask(any_tables.target, counted)
        report("session stopped, continued", await load.recovery_seconds())
        await load.watcher.ticks(2)
        due = [sample.elapsed_seconds for sample in load.watcher.samples if sample.number >= heard]
        summary = await load.stop()
    assert int(after) > int(before)
    gaps = [after - before for before, after in itertools.pairwise(due)]
    assert [gap > STOPPED_SECONDS / 2 for gap in gaps].count(True) == 1
    assert summary.reconciliation.commits_client == summary.reconciliation.commits_server
    await asyncio.to_thread(assert_nothing_left, tuibench_home)


@pytest.mark.whole
async def test_a_stopped_guardian(any_tables: PrivateServer, tuibench_home: Path) -> None:
    """A change waits for no guardian that was up already, and the end of the run restores all the same."""
    async with loaded(fault_spec(any_tables.target)) as load:
        assert (await load.watcher.submit(ApplyPreset("durable"))).ok
        assert (await load.watcher.submit(ApplyPreset("unsafe"))).ok
        with stopped(pid_of(tuibench_home, GUARDIAN)):
            assert await ask(any_tables.target, DURABILITY) == [UNSAFE]
            assert (await load.watcher.submit(ApplyPreset("durable"))).ok
        await load.stop()
    assert await ask(any_tables.target, DURABILITY) == [DURABLE]
    await asyncio.to_thread(assert_nothing_left, tuibench_home)


async def test_a_worker_out_of_descriptors(
    any_tables: PrivateServer, tuibench_home: Path, report: Report
) -> None:
    """Connections that are lost meanwhile come back as soon as there are descriptors again."""
    async with loaded(fault_spec(any_tables.target, threads=64)) as load:
        worker = psutil.Process(pid_of(tuibench_home, WORKER))
        _, hard = worker.rlimit(psutil.RLIMIT_NOFILE)
        worker.rlimit(psutil.RLIMIT_NOFILE, (SLOTS, hard))
        await kill_load(any_tables)
        await load.loses_connections()
        await load.watcher.ticks(4)
        assert 0 < known("open_connections", load.watcher.loads[-1]) < load.threads
        worker.rlimit(psutil.RLIMIT_NOFILE, (hard, hard))
        report("worker out of descriptors", await load.recovery_seconds())
        summary = await load.stop()
    assert summary.outcome == "stopped"
    await asyncio.to_thread(assert_nothing_left, tuibench_home)


async def kill_load(server: PrivateServer) -> None:
    listed = "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND db = 'sbtest'"
    for (identity,) in await ask(server.target, listed):
        with suppress(SQLError):
            await ask(server.target, f"KILL {identity}")
