"""Worker processes, real ones, with nobody at the other end of their connections."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.load.programs import SINGLE, begin, program
from tuibench.errors import RunError
from tuibench.load.fleet import Fleet, Worker, share
from tuibench.load.wire import Finish, Report, SetConnections
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


async def test_a_killed_worker_is_named_and_the_others_still_give_their_last_report() -> None:
    async with fleet(2) as workers:
        await workers.report()
        killed = workers.pids[0]
        os.kill(killed, signal.SIGKILL)
        with pytest.raises(RunError, match=f"worker process {killed} ended"):
            await workers.report()
        assert [report.worker for report in await workers.finish(0)] == [1]


async def test_a_worker_that_does_not_answer_is_killed() -> None:
    async with fleet(1) as workers:
        await workers.report()
        os.kill(workers.pids[0], signal.SIGSTOP)
    with pytest.raises(ProcessLookupError):
        os.kill(workers.pids[0], 0)
