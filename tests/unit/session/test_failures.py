"""Errors of tuibench itself in a run: it ends as failed, its end is complete, and its summary tells why."""

import asyncio
from collections.abc import Callable
from functools import partial, reduce
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace

from tests.unit.session.simulated_session import (
    PlayedFleet,
    PlayedSampler,
    PlayedSettings,
    played_server,
    simulate_session,
)
from tests.unit.session.worker_reports import report
from tests.virtual import VirtualClock, in_no_time
from tuibench.base.errors import ExitCode, RunError
from tuibench.features.probe import experiment
from tuibench.features.probe.experiment import usl_of
from tuibench.features.probe.plan import ProbeProgress
from tuibench.load.messages import Counters, WorkerReport
from tuibench.model.message import RunState, SessionSpec, StartProbe
from tuibench.model.plan import RunPlan
from tuibench.model.probe import ProbeOrder, UslFit
from tuibench.model.schedule import parse_schedule
from tuibench.model.server import Target
from tuibench.model.summary import Summary
from tuibench.record.recorder import SUMMARY
from tuibench.session.load_run import LoadRun

PLAN = RunPlan(profile="oltp_point_select", threads=4, seconds=8)


@pytest.fixture(autouse=True)
def _errors_are_logged_in_a_home_of_their_own(tuibench_home: Path) -> None:
    return


def spec_in(folder: Path) -> SessionSpec:
    return SessionSpec(session="s1", plan=PLAN, target=Target(), run_directory=str(folder / "record"))


def ten_a_second(fleet: PlayedFleet) -> list[WorkerReport]:
    done = round(fleet.clock.time() * 10)
    return [report(0, counters=Counters(scheduled=done, completed=done))]


class Broken:
    """Raises an error of our own, as an attribute of anything, plain or awaited; `after` calls that work."""

    def __init__(self, after: int = 0, result: Any = None) -> None:
        self._left = after
        self._result = result

    def __call__(self, *_: Any, **__: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise IndexError("list index out of range")
        return self._result


class AsyncBroken(Broken):
    async def __call__(self, *_: Any, **__: Any) -> Any:
        return super().__call__()


class Seen:
    """A run, and what was left of it."""

    def __init__(self, folder: Path, prepare: Callable[[LoadRun], None], plan: RunPlan = PLAN) -> None:
        self.runs: list[LoadRun] = []

        def prepared(run: LoadRun) -> None:
            self.runs.append(run)
            prepare(run)

        self.summary = simulate_session(plan, ten_a_second, folder, prepared)
        self.recorded = msgspec.json.decode((folder / "record" / SUMMARY).read_bytes(), type=Summary)

    @property
    def run(self) -> LoadRun:
        return self.runs[0]

    @property
    def settings(self) -> PlayedSettings:
        return cast(PlayedSettings, self.run.watcher.settings)

    @property
    def fleet(self) -> PlayedFleet:
        return cast(PlayedFleet, self.run.load.fleet)

    def assert_failed_but_complete(self) -> None:
        assert self.summary.outcome == "failed"
        assert "IndexError: list index out of range" in self.summary.failure
        assert self.run.watcher.lifecycle.exit_code is ExitCode.RUN_FAILED
        assert self.run.watcher.lifecycle.state is RunState.ENDED
        assert self.fleet.told[-1] == "kill"
        assert self.settings.done == ["restore", "close"]
        assert self.recorded.session == "s1"


def break_step(run: LoadRun, step: str, broken: Callable[[], Broken] = AsyncBroken) -> None:
    *owners, name = step.split(".")
    setattr(reduce(getattr, owners, run), name, broken())


BROKEN = {
    "watcher.sampler.observe": AsyncBroken,
    "load.tick": AsyncBroken,
    "watcher.sampler.begin": AsyncBroken,
    "load.open": AsyncBroken,
    "effect_tracker.tick": Broken,
    "plan_runner.make_due_changes": AsyncBroken,
    "load.fleet.finished": AsyncBroken,
}


def break_listener(run: LoadRun) -> None:
    run.watcher.bus.listeners.append(Broken(after=3))


@pytest.mark.parametrize(
    "prepare",
    [*(partial(break_step, step=step, broken=broken) for step, broken in BROKEN.items()), break_listener],
    ids=[*BROKEN, "listener"],
)
def test_an_error_of_our_own_makes_a_run_that_failed(
    tmp_path: Path, tuibench_home: Path, prepare: Callable[[LoadRun], None]
) -> None:
    seen = Seen(tmp_path, prepare, replace(PLAN, schedule=parse_schedule("4:2s,8:9s")))
    seen.assert_failed_but_complete()
    assert seen.recorded.outcome == "failed"
    assert seen.recorded.failure == seen.summary.failure
    assert seen.summary.seconds < 8
    assert "test_failures.py" in (tuibench_home / "state" / "crash.log").read_text()


def test_an_error_in_the_task_of_a_probe_ends_the_run_as_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fitted(progress: ProbeProgress) -> UslFit:
        return usl_of(progress)

    # A thread would need real time.
    monkeypatch.setattr(experiment, "fit_usl", fitted)

    async def start(run: LoadRun) -> None:
        await run.submit(StartProbe(ProbeOrder(seconds=60.0, step_seconds=6.0, most=64.0)))

    starts: list[asyncio.Future[None]] = []

    def prepare(run: LoadRun) -> None:
        run.load.set_threads = AsyncBroken(after=1)  # type: ignore[method-assign]
        loop = asyncio.get_running_loop()
        loop.call_later(2.2, lambda: starts.append(asyncio.ensure_future(start(run))))

    seen = Seen(tmp_path, prepare, replace(PLAN, interval_seconds=0.5))
    seen.assert_failed_but_complete()


def test_an_error_in_the_task_of_the_activity_ends_the_run_as_failed(tmp_path: Path) -> None:
    def prepare(run: LoadRun) -> None:
        run.watcher.activity_monitor._take_sample = AsyncBroken()  # type: ignore[method-assign]
        asyncio.get_running_loop().call_later(2.2, run.watcher.activity_monitor.renew)

    Seen(tmp_path, prepare).assert_failed_but_complete()


# Steps of the end


@pytest.mark.parametrize(
    "step",
    [
        "load.fleet.finish",
        "laboratory.finish",
        "watcher.activity_monitor.close",
        "watcher.sampler.end",
    ],
)
def test_a_step_that_fails_skips_none_of_the_others(tmp_path: Path, step: str) -> None:
    seen = Seen(tmp_path, lambda run: break_step(run, step))
    seen.assert_failed_but_complete()
    assert seen.recorded.outcome == "failed"
    assert seen.summary.transactions.total > 0 or step == "load.fleet.finish"


@pytest.mark.parametrize("step", ["restore", "close"])
def test_settings_that_fail_to_be_restored_skip_no_other_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    monkeypatch.setattr(PlayedSettings, step, AsyncBroken())
    seen = Seen(tmp_path, lambda run: None)
    assert seen.recorded.outcome == seen.summary.outcome == "failed"
    assert seen.settings.done == [other for other in ("restore", "close") if other != step]
    assert seen.fleet.told[-1] == "kill"
    assert seen.run.watcher.lifecycle.state is RunState.ENDED


def test_a_connection_that_cannot_be_closed_skips_no_other_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PlayedSampler, "close", AsyncBroken())
    Seen(tmp_path, lambda run: None).assert_failed_but_complete()


def test_a_summary_that_cannot_be_built_is_replaced_by_a_bare_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LoadRun, "_with_findings", Broken())
    seen = Seen(tmp_path, lambda run: None)
    seen.assert_failed_but_complete()
    assert seen.recorded == seen.summary
    assert seen.summary.transactions.total == 0


def test_settings_are_restored_first_once_the_load_has_ended(tmp_path: Path) -> None:
    order: list[str] = []

    def note(part: Any, name: str) -> None:
        really = getattr(part, name)

        async def noted(*given: Any) -> Any:
            order.append(name)
            return await really(*given)

        setattr(part, name, noted)

    def prepare(run: LoadRun) -> None:
        watcher = run.watcher
        for part, name in (
            (run.load, "finish"),
            (watcher.settings, "restore"),
            (run.laboratory, "finish"),
            (watcher.sampler, "end"),
        ):
            note(part, name)

    Seen(tmp_path, prepare)
    assert order == ["finish", "restore", "finish", "end"]


def test_a_run_that_is_cancelled_restores_and_records(tmp_path: Path) -> None:
    runs: list[LoadRun] = []

    async def scenario(clock: VirtualClock) -> None:
        with played_server(clock, ten_a_second):
            async with LoadRun(spec_in(tmp_path), clock) as run:
                runs.append(run)
                await run.run()

    async def cancelled(clock: VirtualClock) -> None:
        task = asyncio.create_task(scenario(clock))
        await asyncio.sleep(2.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    in_no_time(cancelled)
    assert cast(PlayedSettings, runs[0].watcher.settings).done == ["restore", "close"]
    assert (tmp_path / "record" / SUMMARY).exists()


# The beginning


async def refuse(*_: object) -> None:
    raise RunError("it cannot work")


def fail_to_open(
    folder: Path, prepare: Callable[[LoadRun], None], refusal: Exception | None = None
) -> LoadRun:
    """A run that could not be opened."""
    runs: list[LoadRun] = []

    async def scenario(clock: VirtualClock) -> None:
        with played_server(clock, ten_a_second, refusal):
            runs.append(LoadRun(spec_in(folder), clock))
            prepare(runs[0])
            with pytest.raises(RunError, match="it cannot work"):
                await runs[0].__aenter__()

    in_no_time(scenario)
    return runs[0]


def test_a_run_without_a_record_leaves_nothing(tmp_path: Path) -> None:
    run = fail_to_open(tmp_path, lambda run: setattr(run.watcher, "start_recording", refuse))
    assert cast(PlayedFleet, run.watcher.fleet).told == ["kill"]
    assert cast(PlayedSettings, run.watcher.settings).done == ["restore", "close"]
    assert not (tmp_path / "record").exists()


def test_a_login_that_is_refused_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PlayedSampler, "log_in", refuse)
    run = fail_to_open(tmp_path, lambda run: None)
    assert cast(PlayedFleet, run.watcher.fleet).told == ["kill"]
    assert cast(PlayedSettings, run.watcher.settings).done == ["restore", "close"]


def test_workers_are_ended_when_the_preflight_check_fails(tmp_path: Path) -> None:
    run = fail_to_open(tmp_path, lambda run: None, RunError("it cannot work"))
    assert cast(PlayedFleet, run.watcher.fleet).told == ["kill"]
