"""A fleet that grows: one change at a time, and no process left behind when one of them does not start."""

import asyncio
from collections.abc import Callable
from typing import cast
from unittest import mock

import pytest

from tests.unit.load.engine.driving import turns
from tests.unit.load.programs import SINGLE, program
from tuibench.errors import RunError
from tuibench.load.worker_report import Reassign
from tuibench.load.workers.fleet import Fleet
from tuibench.load.workers.worker_process import WorkerProcess
from tuibench.model.plan import RunPlan
from tuibench.model.target import Target


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
