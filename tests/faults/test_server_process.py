"""The server's process is killed, shut down or stopped under load: all come back, no row is lost."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.faults.load import INTERVAL_SECONDS, WAYS, Report, fault_spec, loaded
from tests.integration.support import sbtest
from tests.integration.support.commands import ask, assert_nothing_left
from tests.integration.support.processes import gone, until
from tests.integration.support.session_process import DURABILITY, DURABLE
from tuibench.load.tables import prepare_tables
from tuibench.model.message import ApplyPreset
from tuibench.servers.server import PrivateServer

STOPPED_SECONDS = [2.0, pytest.param(10.0, marks=pytest.mark.whole)]
THREADS = 64
OF_THE_LOAD = {"1213", "1205", "1020"}
"""Deadlocks, lock wait timeouts, rows changed since the snapshot (MariaDB 11.8): many connections have them
without a fault, too."""


@pytest.fixture
def served(restartable: PrivateServer) -> PrivateServer:
    """A server with tables, that a test may kill."""
    asyncio.run(prepare_tables(restartable.target, sbtest.program(table_size=500)))
    return restartable


async def is_whole(server: PrivateServer, home: Path) -> None:
    """Every row is there, the settings are as before, and nothing of ours is left."""
    for table in ("sbtest1", "sbtest2"):
        assert await ask(server.target, f"SELECT COUNT(*) FROM {table}") == [(500,)]
    assert await ask(server.target, DURABILITY) == [DURABLE]
    await asyncio.to_thread(assert_nothing_left, home)


@pytest.mark.parametrize("way", WAYS)
async def test_killed_and_started_again(
    served: PrivateServer, tuibench_home: Path, way: str, report: Report
) -> None:
    async with loaded(fault_spec(served.target, way, threads=THREADS)) as load:
        assert (await load.watcher.submit(ApplyPreset("unsafe"))).ok
        await served.kill()
        await load.stalls()
        await served.start_again()
        report("server killed, started again", await load.recovery_seconds())
        summary = await load.stop()
    assert summary.reconnects >= THREADS
    await is_whole(served, tuibench_home)


@pytest.mark.whole
@pytest.mark.parametrize("way", WAYS)
async def test_shut_down_and_started_again(
    served: PrivateServer, tuibench_home: Path, way: str, report: Report
) -> None:
    async with loaded(fault_spec(served.target, way, threads=THREADS)) as load:
        os.kill(served.pid, signal.SIGTERM)
        assert await asyncio.to_thread(until, lambda: gone(served.pid))
        await load.stalls()
        await served.start_again()
        report("server shut down, started again", await load.recovery_seconds())
        summary = await load.stop()
    assert summary.reconnects >= THREADS
    await is_whole(served, tuibench_home)


@pytest.mark.parametrize("seconds", STOPPED_SECONDS)
@pytest.mark.parametrize("way", WAYS)
async def test_stopped_and_continued(
    served: PrivateServer, tuibench_home: Path, way: str, seconds: float, report: Report
) -> None:
    async with loaded(fault_spec(served.target, way, threads=THREADS)) as load:
        os.kill(served.pid, signal.SIGSTOP)
        try:
            await load.stalls(ticks=round(seconds / INTERVAL_SECONDS))
        finally:
            os.kill(served.pid, signal.SIGCONT)
        report(f"server stopped for {seconds:.0f} s, continued", await load.recovery_seconds())
        summary = await load.stop()
    assert summary.reconnects == 0
    assert set(summary.errors.by_code) <= OF_THE_LOAD
    await is_whole(served, tuibench_home)
