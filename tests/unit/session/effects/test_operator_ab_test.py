"""An A/B test that an operator starts: what it sets, when it ends, and that everything is as it was then."""

import asyncio
from typing import Any, cast

import pytest

from tests.unit.session.fakes import FakeLoad
from tuibench.errors import RunError, TuibenchError, UsageError
from tuibench.metrics.series.slots import Slot
from tuibench.model.command import ApplyPreset, ChangeSetting, Command, SetThreads, StartAbTest, StopAbTest
from tuibench.model.event import EventKind
from tuibench.model.experiments.effect import AbTestPlan, Verdict
from tuibench.model.message import RunState
from tuibench.model.plan import RunPlan
from tuibench.model.settings import SettingState
from tuibench.session.control.experiment import ExperimentSession
from tuibench.session.control.settings import Settings
from tuibench.session.effects.operator_ab_test import OperatorAbTest
from tuibench.session.load.load_controller import LoadController

SYNC, FLUSH = "sync_binlog", "innodb_flush_log_at_trx_commit"
ORDER = StartAbTest(subject=SYNC, a="1", b="0", max_seconds=64)


def state(name: str, value: str) -> SettingState:
    return cast(SettingState, _State(name, value))


class _State:
    def __init__(self, name: str, value: str) -> None:
        self.name, self.value = name, value


class Session:
    """Carries out what the test submits, and makes a slot a second: with 0 the load is twice as fast."""

    def __init__(self, plan: RunPlan | None = None) -> None:
        self.values = {SYNC: "100", FLUSH: "2"}
        self.submitted: list[Command] = []
        self.told: list[str] = []
        self.refused: str | None = None
        self.state = RunState.RUNNING
        self.is_ending = False
        self.now = 100.3
        self.changes = 0
        self.load = FakeLoad([], 8)
        self.tasks: list[asyncio.Task[None]] = []
        played: Any = self
        self.test = OperatorAbTest(
            plan or RunPlan(profile="oltp_write_only", threads=8),
            ExperimentSession(
                cast(LoadController, self.load),
                cast(Settings, played),
                played,
                played,
                self.submit,
                self.start_task,
            ),
            self.on_change,
        )

    @property
    def states(self) -> tuple[SettingState, ...]:
        return tuple(state(name, value) for name, value in self.values.items())

    def start_task(self, work: Any, name: str) -> asyncio.Task[None]:
        self.tasks.append(asyncio.create_task(work, name=name))
        return self.tasks[-1]

    def on_change(self) -> None:
        self.changes += 1

    def elapsed_seconds(self) -> float:
        return self.now

    def emit(self, kind: EventKind, text: str) -> None:
        self.told.append(text)

    def publish_status(self) -> None:
        return

    def fail(self, error: Exception) -> None:
        raise AssertionError(error)

    async def submit(self, command: Command) -> str:
        self.submitted.append(command)
        match command:
            case ChangeSetting(name=name, value=value):
                if value == self.refused:
                    raise RunError(f"the server refuses {value}")
                before, self.values[name] = self.values[name], value
                return f"{name} {before} → {value}"
            case ApplyPreset(name=name):
                relaxed = name == "relaxed"
                self.values |= {SYNC: "100" if relaxed else "0", FLUSH: "2" if relaxed else "0"}
                return f"preset {name}: → {self.values}"
            case SetThreads(threads=threads):
                self.load.threads = threads
                return f"threads: {threads}"
        raise AssertionError(command)

    async def drive(self, seconds: int) -> None:
        for _ in range(seconds):
            self.now = round(self.now) + 1.0
            rate = 200.0 if self.values[SYNC] == "0" else 100.0
            self.test.tick(Slot(self.now, 1.0, rate, p95_ms=10.0))
            await asyncio.sleep(0)

    async def settle(self) -> None:
        await asyncio.gather(*self.tasks)


async def test_it_ends_with_its_verdict_and_everything_is_as_before() -> None:
    session = Session()
    assert (await session.test.execute(ORDER)).startswith(
        "A/B test of sync_binlog: 1 against 0, at most 64 s"
    )
    await session.drive(61)
    await session.settle()
    result = session.test.result
    assert result is not None
    assert (result.verdict, result.by_hand, result.is_sequential) == (Verdict.HIGHER, True, True)
    assert result.ended_seconds is not None
    assert result.ended_seconds < 165
    assert session.values == {SYNC: "100", FLUSH: "2"}
    assert not session.test.is_under_way
    assert session.changes == 2


async def test_both_values_are_tried_before_it_begins() -> None:
    session = Session()
    session.refused = "0"
    with pytest.raises(RunError, match="refuses 0"):
        await session.test.execute(ORDER)
    assert session.values[SYNC] == "100"
    assert not session.test.is_under_way
    assert session.test.result is None


async def test_without_a_verdict_it_ends_when_its_time_is_over() -> None:
    session = Session()
    order = StartAbTest(subject=FLUSH, a="1", b="2", tolerance_percent=0.001, max_seconds=40)
    session.values[SYNC] = "1"
    await session.test.execute(order)
    await session.drive(3)
    session.values[SYNC] = "0"
    await session.drive(41)
    await session.settle()
    assert not session.test.is_under_way
    assert session.values[FLUSH] == "2"


async def test_the_operator_ends_it() -> None:
    session = Session()
    await session.test.execute(ORDER)
    await session.drive(8)
    assert await session.test.execute(StopAbTest()) == "the A/B test is stopped"
    await session.settle()
    assert session.told[-1] == "A/B test ended: stopped by the operator"
    assert session.values[SYNC] == "100"
    with pytest.raises(UsageError, match="no A/B test"):
        await session.test.execute(StopAbTest())


async def test_what_was_before_a_preset_is_set_back_one_by_one() -> None:
    session = Session()
    session.values = {SYNC: "7", FLUSH: "1"}
    await session.test.execute(StartAbTest(subject="preset", a="relaxed", b="unsafe"))
    await session.test.execute(StopAbTest())
    await session.settle()
    assert session.values == {SYNC: "7", FLUSH: "1"}


async def test_threads_are_compared_too() -> None:
    session = Session()
    await session.test.execute(StartAbTest(subject="threads", a="4", b="16"))
    await session.test.execute(StopAbTest())
    await session.settle()
    assert session.submitted[-1] == SetThreads(8)
    assert SetThreads(4) in session.submitted


async def test_the_result_of_an_earlier_one_is_kept() -> None:
    session = Session()
    for _ in range(2):
        await session.test.execute(ORDER)
        await session.drive(61)
        await session.settle()
    assert len(session.test.earlier) == 1
    assert session.test.result is not None


async def test_at_the_end_of_the_session_nothing_is_set_any_more() -> None:
    session = Session()
    await session.test.execute(ORDER)
    await session.drive(3)
    submitted = len(session.submitted)
    session.is_ending = True
    session.test.end()
    await session.drive(20)
    assert len(session.submitted) == submitted
    assert session.test.result is not None


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (StartAbTest(subject="sync_bin", a="1", b="0"), "sync_bin"),
        (StartAbTest(subject="threads", a="x", b="0"), "whole numbers"),
        (StartAbTest(subject="preset", a="durable", b="fast"), "fast"),
        (StartAbTest(subject=SYNC, a="1", b="0", max_seconds=5), "takes between 32 and"),
    ],
)
async def test_what_cannot_be_tested_is_refused(order: StartAbTest, words: str) -> None:
    session = Session()
    with pytest.raises(TuibenchError, match=words):
        await session.test.execute(order)
    assert not session.submitted


async def test_only_one_at_a_time_and_only_while_the_load_runs() -> None:
    session = Session()
    await session.test.execute(ORDER)
    with pytest.raises(UsageError, match="already running"):
        await session.test.execute(ORDER)
    paused = Session()
    paused.state = RunState.PAUSED
    with pytest.raises(UsageError, match="not running: paused"):
        await paused.test.execute(ORDER)


async def test_a_run_that_is_a_test_itself_takes_no_other() -> None:
    trial = AbTestPlan(subject=SYNC, a="1", b="0")
    session = Session(RunPlan(profile="oltp_write_only", threads=8, trial=trial))
    with pytest.raises(UsageError, match="is an A/B test"):
        await session.test.execute(ORDER)
