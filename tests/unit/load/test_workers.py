"""Worker processes: number, assignment, growth, scheduling."""

import asyncio
import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from typing import cast
from unittest import mock

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.load.driving import turns
from tests.unit.load.programs import SINGLE, begin, program
from tuibench.base.errors import RunError
from tuibench.load import fleet as pool_fleet
from tuibench.load.fleet import (
    ConnectionAssignment,
    Fleet,
    WorkerPool,
    WorkerProcess,
    open_files_of_worker,
    split_by_weight,
    worker_count,
)
from tuibench.load.messages import Adjust, Reassign, RequestReport
from tuibench.model.plan import RunPlan
from tuibench.model.server import Target

# Which worker keeps which connection, and parts that add up.


changes = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3)), min_size=1, max_size=12)
"""Connections asked for, and workers added before."""


@given(changes)
def test_every_number_lives_exactly_once_and_where_it_lived(asked: list[tuple[int, int]]) -> None:
    assignment, workers, home = ConnectionAssignment(), 1, dict[int, int]()
    for connections, more in asked:
        workers += more
        spread = assignment.spread(connections, workers)
        assert len(spread) == workers
        assert sorted(number for numbers in spread for number in numbers) == list(range(connections))
        assert assignment.total == connections
        now = {number: worker for worker, numbers in enumerate(spread) for number in numbers}
        assert all(now[number] == worker for number, worker in home.items() if number in now)
        home = now


@given(st.lists(st.integers(0, 40), min_size=1, max_size=8), st.integers(1, 7))
def test_growth_from_nothing_is_balanced(more: list[int], workers: int) -> None:
    assignment, total = ConnectionAssignment(), 0
    for grown in more:
        total += grown
        sizes = [len(numbers) for numbers in assignment.spread(total, workers)]
        assert max(sizes) - min(sizes) <= 1


@given(st.integers(1, 60), st.integers(0, 60), st.integers(1, 5), st.integers(1, 5))
def test_new_ones_go_where_the_fewest_are(before: int, more: int, workers: int, added: int) -> None:
    """Old ones stay, so a new worker may catch up with the others but never overtakes them."""
    assignment = ConnectionAssignment()
    old = [len(numbers) for numbers in assignment.spread(before, workers)]
    new = [len(numbers) for numbers in assignment.spread(before + more, workers + added)]
    grown = [size for size, earlier in zip(new, old + [0] * added, strict=True) if size > earlier]
    assert all(size <= min(new) + 1 for size in grown)


def test_who_leaves_are_the_last_ones() -> None:
    assignment = ConnectionAssignment()
    assert assignment.spread(5, 2) == [(0, 2, 4), (1, 3)]
    assert assignment.spread(2, 2) == [(0,), (1,)]
    assert assignment.spread(3, 3) == [(0,), (1,), (2,)]


@given(st.integers(0, 10**15), st.lists(st.integers(0, 1000), min_size=1, max_size=64))
def test_parts_add_up_and_are_as_even_as_can_be(whole: int, weights: list[int]) -> None:
    given = split_by_weight(whole, weights)
    total = sum(weights)
    if not total:
        assert given == [0] * len(weights)
        return
    assert sum(given) == whole
    for part, weight in zip(given, weights, strict=True):
        assert abs(part * total - whole * weight) <= total


@pytest.mark.parametrize(
    ("whole", "weights", "given"),
    [(500, [1], [500]), (500, [2, 1], [333, 167]), (1, [1, 1], [0, 1]), (0, [3, 3], [0, 0])],
)
def test_some_parts(whole: int, weights: list[int], given: list[int]) -> None:
    assert split_by_weight(whole, weights) == given


# How many worker processes a load has, by cores and by open files.


PLAN = RunPlan(profile="oltp_read_write", threads=16)


def with_threads(threads: int, workers: int | None = None) -> RunPlan:
    return msgspec.structs.replace(PLAN, threads=threads, workers=workers)


def test_one_core_is_left_to_a_server_on_this_host(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, beside, away in ((8, 7, 8), (1, 1, 1), (None, 1, 1)):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        assert worker_count(PLAN, is_beside_server=True, is_native=False) == beside
        assert worker_count(PLAN, is_beside_server=False, is_native=False) == away
        assert worker_count(PLAN, is_beside_server=False, is_native=True) == 1
    assert worker_count(with_threads(16, workers=5), is_beside_server=True, is_native=True) == 5


@pytest.mark.parametrize(
    ("hard", "threads", "native", "asyncio"),
    [
        (20_000, 9_968, 1, 1),
        (20_000, 9_969, 2, 1),
        (1_064, 10_000, 20, 10),
        (resource.RLIM_INFINITY, 100_000, 1, 1),
        (10, 100, 1, 1),
    ],
)
def test_no_worker_opens_more_files_than_it_may(
    monkeypatch: pytest.MonkeyPatch, hard: int, threads: int, native: int, asyncio: int
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (256, hard))
    plan = with_threads(threads)
    for is_native, wanted in ((True, native), (False, asyncio)):
        found = worker_count(plan, is_beside_server=True, is_native=is_native)
        assert found == wanted
        assert hard <= 64 or open_files_of_worker(threads, found, is_native=is_native) <= hard
    assert worker_count(with_threads(threads, workers=1), is_beside_server=True, is_native=True) == 1


# A fleet that grows: one change at a time, and no process left behind when one of them does not start.


class ScriptedWorker:
    """A worker process that does nothing; `is_ended` tells whether it was ended."""

    def __init__(self) -> None:
        self.send = mock.Mock()
        self.is_ended = False

    def grant_quota(self, message: object) -> None:
        self.send(message)

    async def end(self) -> None:
        self.is_ended = True


class ScriptedStarts:
    """Starts workers once `gate` is open; the one with the number `failing` raises instead."""

    def __init__(self, failing: int | None = None) -> None:
        self.started: list[ScriptedWorker] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self._failing = failing
        self._asked = 0

    async def __call__(self, forward: Callable[[Reassign], None]) -> WorkerProcess:
        number, self._asked = self._asked, self._asked + 1
        await self.gate.wait()
        if number == self._failing:
            raise RunError("cannot start a worker process")
        self.started.append(ScriptedWorker())
        return cast(WorkerProcess, self.started[-1])

    @property
    def running(self) -> int:
        return sum(not worker.is_ended for worker in self.started)


def fleet(threads: int = 1, most: int = 8) -> Fleet:
    return Fleet(RunPlan(profile="test", threads=threads), Target(), program(SINGLE), most)


async def test_two_changes_at_once_start_each_worker_once(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = ScriptedStarts()
    monkeypatch.setattr(WorkerProcess, "start", starts)
    growing = fleet()
    await growing.start()
    starts.gate.clear()
    changes = [asyncio.create_task(growing.set_threads(threads)) for threads in (6, 4)]
    await turns(10)
    starts.gate.set()
    await asyncio.gather(*changes)
    assert len(growing) == len(starts.started) == 6
    await growing.kill()
    assert starts.running == 0


@pytest.mark.parametrize("failing", [0, 2])
async def test_a_worker_that_does_not_start_leaves_none_of_the_others(
    monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    starts = ScriptedStarts(failing)
    monkeypatch.setattr(WorkerProcess, "start", starts)
    growing = fleet(threads=4)
    with pytest.raises(RunError, match="cannot start"):
        await growing.start()
    assert (len(growing), starts.running) == (0, 0)


async def test_a_growth_that_is_cancelled_leaves_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = ScriptedStarts()
    monkeypatch.setattr(WorkerProcess, "start", starts)
    growing = fleet(threads=2)
    starts.gate.clear()
    starting = asyncio.create_task(growing.start())
    await turns(10)
    starting.cancel()
    starts.gate.set()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert (len(growing), starts.running) == (0, 0)


async def test_workers_that_start_while_the_fleet_is_ended_are_ended_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starts = ScriptedStarts()
    monkeypatch.setattr(WorkerProcess, "start", starts)
    growing = fleet()
    await growing.start()
    starts.gate.clear()
    change = asyncio.create_task(growing.set_threads(5))
    await turns(10)
    ending = asyncio.create_task(growing.kill())
    await turns(10)
    starts.gate.set()
    await asyncio.gather(change, ending)
    assert starts.running == 0


async def test_a_worker_that_cannot_be_ended_does_not_spare_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starts = ScriptedStarts()
    monkeypatch.setattr(WorkerProcess, "start", starts)

    async def end(worker: ScriptedWorker) -> None:
        if worker is starts.started[0]:
            raise RuntimeError("it does not end")
        await turns(3)
        worker.is_ended = True

    monkeypatch.setattr(ScriptedWorker, "end", end)
    growing = fleet(threads=3)
    await growing.start()
    with pytest.raises(RuntimeError, match="does not end"):
        await growing.kill()
    assert starts.running == 1


# A worker's process: what keeps it from being started is said in words.


async def test_a_process_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(RunError, match=r"cannot start a worker process: No such file .*ulimit"):
        await WorkerProcess.start()


async def test_no_open_files_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("socket.socketpair", refuse)
    with pytest.raises(RunError, match="cannot start a worker process: Too many open files"):
        await WorkerProcess.start()


# The scheduling policy of a worker, tried in processes of its own.


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the policy")

ASK = """
import os
from tuibench.load.worker import use_batch_scheduling
{first}
names = {{os.SCHED_OTHER: "other", os.SCHED_BATCH: "batch", os.SCHED_IDLE: "idle"}}
for wanted in (True, False):
    use_batch_scheduling(wanted)
    print(names[os.sched_getscheduler(0)])
"""


def policies(first: str = "") -> list[str]:
    """The policies after asking for several answers at a time, and after asking for each."""
    command = [sys.executable, "-c", ASK.format(first=first)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@linux_only
def test_answers_are_taken_several_at_a_time_or_each_as_it_comes() -> None:
    assert policies() == ["batch", "other"]


PRETENDED_IDLE = """
held = [os.SCHED_IDLE]
os.sched_getscheduler = lambda _: held[0]
os.sched_setscheduler = lambda _, policy, parameters: held.__setitem__(0, policy)
"""
"""A process that is really idle would wait for a processor that nobody else wants."""


@linux_only
def test_a_scheduling_policy_set_by_the_user_is_kept() -> None:
    assert policies(PRETENDED_IDLE) == ["idle", "idle"]


@linux_only
def test_a_system_that_forbids_it_is_no_obstacle() -> None:
    forbid = "def no(*_): raise PermissionError\nos.sched_setscheduler = no"
    assert policies(forbid) == ["other", "other"]


@linux_only
async def test_a_worker_takes_several_at_a_time_unless_it_works_on_a_schedule() -> None:
    worker = await WorkerProcess.start()
    worker.channel.send(begin(SINGLE))
    policies = []
    for rate in (0.0, 50.0, 0.0):
        worker.channel.send(Adjust(rate=rate))
        worker.channel.send(RequestReport())
        await worker.report()
        policies.append(os.sched_getscheduler(worker.process.pid))
    await worker.end()
    assert policies == [os.SCHED_BATCH, os.SCHED_OTHER, os.SCHED_BATCH]


# Worker processes, real ones, that run one load after the other.


NOBODY = Target(host="127.0.0.1", port=1, user="ann")


@pytest.fixture
def _workers_may_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is busy elsewhere makes no worker late."""
    monkeypatch.setattr(pool_fleet, "REPORT_SECONDS", 60.0)


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


@pytest.mark.usefixtures("_workers_may_be_slow")
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


@pytest.mark.usefixtures("_workers_may_be_slow")
async def test_a_worker_that_did_not_report_its_end_is_not_pooled() -> None:
    async with WorkerPool() as pool:
        broken = await started(pool, 1)
        await broken.kill()
        assert not is_there(broken.pids[0])
        following = await started(pool, 1)
        assert following.pids != broken.pids
        await following.kill()


@pytest.mark.usefixtures("_workers_may_be_slow")
async def test_more_workers_are_started_where_too_few_are_idle() -> None:
    async with WorkerPool() as pool:
        first = await started(pool, 1)
        await first.finish(0)
        await first.kill()
        second = await started(pool, 2)
        assert len(second) == 2
        assert set(first.pids) < set(second.pids)
        await second.kill()
