"""Worker processes, real ones, that run one load after the other."""

import os

import pytest

from tests.unit.load.programs import SINGLE, program
from tuibench.load.workers import link
from tuibench.load.workers.fleet import Fleet
from tuibench.load.workers.pool import WorkerPool
from tuibench.model.plan import RunPlan
from tuibench.model.target import Target

NOBODY = Target(host="127.0.0.1", port=1, user="ann")


@pytest.fixture(autouse=True)
def _workers_may_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is busy elsewhere makes no worker late."""
    monkeypatch.setattr(link, "REPORT_SECONDS", 60.0)


async def started(pool: WorkerPool, workers: int) -> Fleet:
    made = Fleet(RunPlan(profile="test", threads=2), NOBODY, program(SINGLE), workers, pool=pool)
    await made.start()
    return made


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_the_next_load_has_the_last_ones_processes_and_nothing_else_of_it() -> None:
    async with WorkerPool() as pool:
        first = await started(pool, 2)
        await first.set_threads(2)
        await first.report()
        assert len(await first.finish(0)) == 2
        await first.kill()
        second = await started(pool, 2)
        assert set(second.pids) == set(first.pids)
        assert [report.worker for report in await second.report()] == [0, 1]
        (report, _) = await second.finish(0)
        assert (report.connections, report.counters.scheduled, report.last_refusal) == (0, 0, "")
        await second.kill()
        assert all(is_there(pid) for pid in second.pids)
    assert not any(is_there(pid) for pid in second.pids)


async def test_a_worker_that_did_not_report_its_end_is_not_pooled() -> None:
    async with WorkerPool() as pool:
        broken = await started(pool, 1)
        await broken.kill()
        assert not is_there(broken.pids[0])
        following = await started(pool, 1)
        assert following.pids != broken.pids
        await following.kill()


async def test_more_workers_are_started_where_too_few_are_idle() -> None:
    async with WorkerPool() as pool:
        first = await started(pool, 1)
        await first.finish(0)
        await first.kill()
        second = await started(pool, 2)
        assert len(second) == 2
        assert set(first.pids) < set(second.pids)
        await second.kill()
