"""Leases: renewed in time they go on, and what has run out stays so."""

import asyncio

from tests.unit.load.programs import SINGLE, begin
from tuibench.load.lease import Lease
from tuibench.load.messages import AssignConnections, RequestReport
from tuibench.load.workers.worker_process import WorkerProcess

SECOND = 1_000_000_000
PATIENCE_SECONDS = 60.0


def test_a_lease_runs_out_unless_it_is_renewed() -> None:
    lease = Lease(3, 0)
    assert lease.seconds_left(SECOND) == 2
    lease.renew(2 * SECOND)
    assert not lease.is_over(5 * SECOND - 1)
    assert lease.is_over(5 * SECOND)
    lease.renew(6 * SECOND)
    assert lease.is_over(6 * SECOND)
    assert lease.seconds_left(6 * SECOND) == 0


def test_a_lease_of_no_time_never_runs_out_unless_it_is_ended() -> None:
    lease = Lease(0, 0)
    assert lease.seconds_left(10**18) is None
    assert not lease.is_over(10**18)
    lease.end()
    assert lease.is_over(0)


async def test_a_worker_process_whose_lease_runs_out_ends_by_itself() -> None:
    """Its agent is stopped, say: nobody closes the connection, nobody sends it a word."""
    from msgspec.structs import replace

    worker = await WorkerProcess.start()
    worker.send(replace(begin(SINGLE), lease_seconds=0.2))
    worker.send(AssignConnections((0, 1)))
    assert await asyncio.wait_for(worker.process.wait(), PATIENCE_SECONDS) == 0
    await worker.end()


async def test_a_worker_process_without_a_lease_waits() -> None:
    worker = await WorkerProcess.start()
    worker.send(begin(SINGLE))
    worker.send(RequestReport())
    await worker.report()
    assert worker.process.returncode is None
    await worker.end()
