"""A trial as a session sees it: the right command at the right time, and what spoils a cycle."""

import asyncio
from typing import Any, cast

import msgspec
import pytest

from tests.unit.session.fakes import FakeLoad
from tuibench.errors import ConnectionLostError, RunError, ServerUnreachableError, TuibenchError, UsageError
from tuibench.metrics.inference.ab_tests.sequential import random_orders
from tuibench.metrics.series.slots import Slot
from tuibench.model.command import ApplyPreset, ChangeSetting, Command, SetThreads
from tuibench.model.event import Event, EventKind
from tuibench.model.experiments.effect import AbTestPlan, EffectFigure, Verdict
from tuibench.model.results.summary import RunOutcome
from tuibench.session.control.experiment import ExperimentSession
from tuibench.session.control.settings import Settings
from tuibench.session.effects.ab_test import AbTest, command_for
from tuibench.session.load.load_controller import LoadController

WINDOW = 6
ALTERNATING = 51
"""A seed whose first six cycles are A B, B A, A B, …"""
B_FIRST = next(seed for seed in range(9) if not random_orders(1, seed)[0])


class PlayedSettings:
    """Replies to a value with `answers`; counts how often everything was restored."""

    def __init__(self) -> None:
        self.guard = self
        self.answers: dict[str, str] = {}
        self.asked: list[tuple[str, ...]] = []
        self.refusal: TuibenchError | None = None
        self.restored = 0

    def require_confirmation(self) -> None:
        return

    async def change(self, name: str, value: str) -> str:
        self.asked.append((name, value))
        if self.refusal:
            raise self.refusal
        return self.answers[value]

    async def apply(self, preset: str) -> str:
        self.asked.append((preset,))
        return f"{preset}: old → new"

    async def restore(self) -> list[str]:
        self.restored += 1
        return []


class Session:
    """Takes the trial's commands, each of them at once, and makes slots for it."""

    def __init__(self, trial: AbTestPlan) -> None:
        self.settings = PlayedSettings()
        self.load = FakeLoad([], 8)
        self.submitted: list[tuple[float, Command]] = []
        self.told: list[str] = []
        self.failure: Exception | None = None
        self.refusal: TuibenchError | None = None
        self.stopped: RunOutcome | None = None
        self.now = 0.0
        self.value = trial.a
        self.rates = {trial.a: 100.0, trial.b: 150.0}
        played: Any = self
        self.run = AbTest(
            trial,
            ExperimentSession(
                cast(LoadController, self.load),
                cast(Settings, self.settings),
                lifecycle=played,
                log=played,
                submit=self.submit,
                start_task=lambda work, name: asyncio.create_task(work, name=name),
            ),
        )

    def elapsed_seconds(self) -> float:
        return self.now

    async def submit(self, command: Command) -> str:
        self.submitted.append((self.now, command))
        if self.refusal:
            raise self.refusal
        if isinstance(command, ChangeSetting):
            self.value = command.value
        self.event(EventKind.SETTING)
        return ""

    def emit(self, kind: EventKind, text: str) -> None:
        self.told.append(text)

    def request_stop(self, outcome: RunOutcome = "stopped") -> None:
        self.stopped = outcome

    def publish_status(self) -> None:
        return

    def fail(self, error: Exception) -> None:
        self.failure = error

    def event(self, kind: EventKind) -> None:
        self.run.on_event(Event(at=0, elapsed_seconds=self.now, kind=kind, text="", marker=1))

    async def drive(self, seconds: int, *, disturbance: str = "") -> None:
        if not self.now:
            self.event(EventKind.START)
        for _ in range(seconds):
            self.now += 1.0
            self.run.tick(Slot(self.now, 1.0, self.rates[self.value], p95_ms=10.0), disturbance=disturbance)
            await asyncio.sleep(0)


def trial(cycles: int = 4, subject: str = "sync_binlog", a: str = "1", b: str = "0") -> AbTestPlan:
    return AbTestPlan(subject=subject, a=a, b=b, cycles=cycles, window_seconds=WINDOW, seed=ALTERNATING)


async def test_values_are_set_when_they_are_due_and_only_then() -> None:
    session = Session(trial())
    await session.drive(4 * 2 * WINDOW)
    assert session.submitted == [
        (at, ChangeSetting("sync_binlog", value)) for at, value in ((6, "0"), (18, "1"), (30, "0"), (42, "1"))
    ]


async def test_the_result_is_that_of_the_pairs() -> None:
    session = Session(trial())
    await session.drive(4 * 2 * WINDOW)
    session.run.end()
    result = session.run.result
    assert [pair.order for pair in result.pairs] == ["AB", "BA", "AB", "BA"]
    (tps, p95) = result.comparisons
    assert tps.figure is EffectFigure.TPS
    assert tps.percent == pytest.approx(50)
    assert tps.differs
    assert not p95.differs
    assert result.sentence.startswith("sync_binlog 0 against 1: TPS higher: 50..50 % (about +50 %)")


async def test_each_completed_cycle_is_reported() -> None:
    session = Session(trial())
    await session.drive(2 * 2 * WINDOW)
    assert session.told == [
        "A/B: sync_binlog 0 against 1: 1 of 4 cycles are too few for an interval; TPS +50 % so far",
        "A/B: sync_binlog 0 against 1: 2 of 4 cycles are too few for an interval; TPS +50 % so far",
    ]


async def test_ended_early_there_is_what_there_is() -> None:
    session = Session(trial(cycles=6))
    await session.drive(4 * 2 * WINDOW + 3)
    session.run.end()
    assert len(session.run.result.pairs) == 4
    assert session.run.result.comparisons


@pytest.mark.parametrize("kind", [EventKind.THREADS, EventKind.PAUSE, EventKind.SETTING, EventKind.MARK])
async def test_another_change_costs_its_cycle(kind: EventKind) -> None:
    session = Session(trial())
    await session.drive(2 * WINDOW + 3)
    session.event(kind)
    await session.drive(6 * WINDOW)
    result = session.run.result
    assert [pair.cycle for pair in result.pairs] == [1, 3, 4]
    assert result.left_out == 1


async def test_a_foreign_change_may_have_been_made_a_window_earlier() -> None:
    session = Session(trial())
    await session.drive(2 * WINDOW + 1)
    session.event(EventKind.FOREIGN)
    await session.drive(6 * WINDOW)
    assert [pair.cycle for pair in session.run.result.pairs] == [3, 4]


async def test_after_another_change_the_value_is_set_again_even_if_it_should_hold() -> None:
    session = Session(trial())
    await session.drive(WINDOW + 2)
    session.event(EventKind.SETTING)
    await session.drive(WINDOW)
    assert session.submitted[-1] == (12, ChangeSetting("sync_binlog", "0"))


async def test_a_refusal_under_way_ends_the_run() -> None:
    session = Session(trial())
    session.refusal = RunError("no")
    await session.drive(WINDOW + 1)
    assert session.failure is session.refusal


@pytest.mark.parametrize("error", [ServerUnreachableError("gone"), ConnectionLostError(2013, "gone")])
async def test_a_server_that_is_away_costs_its_cycles_and_is_asked_again(error: TuibenchError) -> None:
    session = Session(trial(cycles=6))
    await session.drive(3 * WINDOW - 2)
    session.refusal = error
    await session.drive(WINDOW, disturbance="the server did not answer")
    session.refusal = None
    session.event(EventKind.RESTART)
    await session.drive(8 * WINDOW + 2)
    assert session.failure is None
    result = session.run.result
    assert [pair.cycle for pair in result.pairs] == [1, 3, 4, 5, 6]
    assert [seconds for seconds, _ in session.submitted] == [6, 18, 24, 30, 42, 54, 66]


async def test_a_slot_of_an_outage_spoils_the_windows_that_it_reaches_into() -> None:
    session = Session(trial())
    await session.drive(2 * WINDOW)
    session.now += 0.5
    session.run.tick(Slot(session.now, 1.0, 0.0), disturbance="the server did not answer")
    await session.drive(6 * WINDOW)
    assert [pair.cycle for pair in session.run.result.pairs] == [3, 4]
    session = Session(trial())
    await session.drive(1, disturbance="the server did not answer")
    await session.drive(8 * WINDOW)
    assert [pair.cycle for pair in session.run.result.pairs] == [2, 3, 4]


async def test_a_refusal_after_the_end_is_none() -> None:
    session = Session(trial())
    await session.drive(WINDOW - 1)
    session.refusal = UsageError("the run is ending")
    session.now += 1
    session.run.tick(Slot(session.now, 1.0, 100.0))
    session.run.end()
    await asyncio.sleep(0)
    assert session.submitted
    assert session.failure is None


async def test_a_sequential_test_stops_at_its_verdict() -> None:
    session = Session(msgspec.structs.replace(trial(cycles=40), is_sequential=True))
    await session.drive(40 * 2 * WINDOW)
    result = session.run.result
    assert session.stopped == "done"
    assert result.verdict is Verdict.HIGHER
    assert len(result.pairs) < 10
    assert result.more_seconds == 0


async def test_an_undecided_test_says_how_much_longer_it_needs() -> None:
    session = Session(msgspec.structs.replace(trial(cycles=40), is_sequential=True, tolerance_percent=2.0))
    for a, b in (
        (100.0, 103.0),
        (101.0, 100.5),
        (99.0, 100.0),
        (100.5, 103.0),
        (101.0, 101.5),
        (99.5, 102.0),
    ):
        session.rates = {"1": a, "0": b}
        await session.drive(2 * WINDOW)
    result = session.run.result
    assert session.stopped is None
    assert result.verdict is Verdict.CANNOT_TELL
    assert result.more_seconds
    assert "undecided: needs about " in result.sentence
    assert "6 of at most 40 cycles" in result.sentence


# Before the load


@pytest.mark.parametrize(("seed", "first", "second"), [(ALTERNATING, "1", "0"), (B_FIRST, "0", "1")])
async def test_both_values_are_tried_and_that_of_the_first_window_is_left(
    seed: int, first: str, second: str
) -> None:
    session = Session(msgspec.structs.replace(trial(), seed=seed))
    session.settings.answers = {"0": "sync_binlog 1 → 0", "1": "sync_binlog 0 → 1"}
    await session.run.dry_run()
    assert session.settings.asked == [("sync_binlog", second), ("sync_binlog", first)]
    assert not session.settings.restored
    await session.drive(WINDOW)
    assert session.submitted == [(WINDOW, ChangeSetting("sync_binlog", second))]


async def test_a_refusal_is_raised_and_everything_put_back() -> None:
    session = Session(trial())
    session.settings.refusal = UsageError("it is read only")
    with pytest.raises(UsageError, match="read only"):
        await session.run.dry_run()
    assert session.settings.restored == 1


async def test_two_words_for_one_value_are_no_trial() -> None:
    session = Session(trial(a="ON", b="1"))
    session.settings.answers = {"ON": "slow_query_log OFF → ON", "1": "slow_query_log ON → ON"}
    with pytest.raises(UsageError, match="the same value with ON and 1"):
        await session.run.dry_run()
    assert session.settings.restored == 1


async def test_threads_are_tried_without_the_server() -> None:
    session = Session(trial(subject="threads", a="4", b="16"))
    await session.run.dry_run()
    assert session.load.threads == 4
    assert session.settings.asked == []


@pytest.mark.parametrize(
    ("subject", "value", "command"),
    [
        ("preset", "unsafe", ApplyPreset("unsafe")),
        ("threads", "16", SetThreads(16)),
        ("long_query_time", "0.5", ChangeSetting("long_query_time", "0.5")),
    ],
)
def test_every_subject_has_its_command(subject: str, value: str, command: Command) -> None:
    assert command_for(subject, value) == command


def test_threads_are_whole() -> None:
    with pytest.raises(UsageError, match="whole numbers"):
        command_for("threads", "many")
