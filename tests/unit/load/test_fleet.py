"""Worker processes, real ones, with nobody at the other end of their connections."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.load.driving import turns
from tests.unit.load.programs import SINGLE, begin, program
from tests.unit.load.test_wire import REPORT
from tuibench.errors import RunError
from tuibench.load.fleet import Fleet, Worker, share
from tuibench.load.report import WorkerReport
from tuibench.load.wire import Channel, Finish, Report, SessionEnd, SetConnections, ToWorker, WorkerEnd
from tuibench.model.plan import MAX_THREADS, Plan
from tuibench.model.target import Target

NOBODY = Target(host="127.0.0.1", port=1, user="ann")
"""Port 1 refuses at once."""

PATIENCE_SECONDS = 30.0


@given(st.integers(0, MAX_THREADS), st.integers(1, 64))
def test_the_shares_of_all_workers_add_up_and_differ_by_one_at_most(total: int, workers: int) -> None:
    shares = [share(total, worker, workers) for worker in range(workers)]
    assert sum(shares) == total
    assert max(shares) - min(shares) <= 1


@given(st.integers(0, 500), st.integers(1, 16))
def test_connection_i_belongs_to_worker_i_mod_workers(total: int, workers: int) -> None:
    for worker in range(workers):
        mine = [connection for connection in range(total) if connection % workers == worker]
        assert share(total, worker, workers) == len(mine)


@asynccontextmanager
async def fleet(workers: int) -> AsyncIterator[Fleet]:
    made = await Fleet.start(workers, Plan(profile="test", threads=4), NOBODY, program(SINGLE))
    try:
        yield made
    finally:
        await made.kill()


async def test_a_worker_whose_session_is_gone_ends() -> None:
    worker = await Worker.start()
    worker.channel.send(begin(SINGLE))
    worker.channel.send(SetConnections(2))
    worker.channel.send(Report())
    await worker.report()
    await worker.channel.close()
    assert await asyncio.wait_for(worker.process.wait(), PATIENCE_SECONDS) == 0


async def test_signals_are_the_sessions_business() -> None:
    worker = await Worker.start()
    worker.channel.send(begin(SINGLE))
    worker.channel.send(Report())
    await worker.report()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        worker.process.send_signal(number)
    worker.channel.send(Finish(0))
    report = await worker.report()
    assert report.connections == 0
    assert await asyncio.wait_for(worker.process.wait(), PATIENCE_SECONDS) == 0
    await worker.channel.close()


async def test_a_fleet_reports_finishes_and_leaves_no_process() -> None:
    async with fleet(2) as workers:
        assert (len(workers), len(set(workers.pids))) == (2, 2)
        workers.set_threads(3)
        assert [report.worker for report in await workers.report()] == [0, 1]
        reports = await workers.finish(0)
        assert sum(report.connections for report in reports) == 0
    for pid in workers.pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_a_killed_worker_is_named() -> None:
    async with fleet(2) as workers:
        await workers.report()
        killed = workers.pids[0]
        os.kill(killed, signal.SIGKILL)
        with pytest.raises(RunError, match=f"worker process {killed} ended"):
            await workers.report()


async def test_a_dead_worker_does_not_cost_a_slower_one_its_last_report() -> None:
    (dead, dead_end), (slow, slow_end) = [await pretended() for _ in range(2)]
    workers = Fleet([dead, slow])
    await dead_end.close()
    asked = asyncio.create_task(workers.report())
    assert await slow_end.receive() == Report()
    await turns(50)
    assert not asked.done()
    slow_end.send(REPORT)
    with pytest.raises(RunError, match="ended unexpectedly"):
        await asked
    slow_end.send(REPORT)
    assert await workers.finish(0) == [REPORT]
    for end in (dead.channel, slow.channel, slow_end):
        await end.close()


class PretendedProcess:
    pid = 4242


async def pretended() -> tuple[Worker, WorkerEnd]:
    """A worker that the test plays, and the end at which it does."""
    ours, theirs = socket.socketpair()
    session: SessionEnd = await Channel.over(ours, WorkerReport)
    process = cast("asyncio.subprocess.Process", PretendedProcess())
    return Worker(process, session), await Channel.over(theirs, ToWorker)


async def test_a_worker_that_does_not_answer_is_killed() -> None:
    async with fleet(1) as workers:
        await workers.report()
        os.kill(workers.pids[0], signal.SIGSTOP)
    with pytest.raises(ProcessLookupError):
        os.kill(workers.pids[0], 0)
