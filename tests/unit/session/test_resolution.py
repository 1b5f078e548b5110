"""A doubtful effect on a private server: its two values alternate until it is decided."""

import asyncio
import math
import random
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.examples import PLAN, load_part, sample
from tests.examples import status as example_status
from tests.examples import summary as example_summary
from tests.fakes import FakeClock
from tests.ticks import server_tick
from tuibench.features.ab.experiment import LOOKS, Resolution, ordered_resolution
from tuibench.metrics.wait_changes import because_text
from tuibench.model.effect import Effect, EffectProgress, Verdict
from tuibench.model.event import EventKind
from tuibench.model.message import ChangeSetting, Mark, RunState, SessionMessage, SetThreads
from tuibench.model.schedule import parse_ab
from tuibench.model.settings import SettingState, ab_order
from tuibench.model.tick import Tick
from tuibench.session.dispatch import Origin
from tuibench.session.effects import EffectTracker
from tuibench.session.events import EventLog
from tuibench.session.laboratory import Change, ExperimentSession

SYNC = "sync_binlog"


class PrivateServer:
    """A session on one, with a load of this noise that is faster with sync_binlog = 0."""

    is_ending, outcome, plan, state = False, "done", PLAN, RunState.RUNNING
    presets = ()

    def __init__(
        self, *, noise: float, effect: float = 1.42, seconds: float = 1.0, resolves: bool = True
    ) -> None:
        self.clock, self.rng = FakeClock(), random.Random(5)
        self.noise, self.effect, self.seconds = noise, effect, seconds
        self.value = "1"
        self.answers = asyncio.Event()
        """Set while the server answers to changes."""
        self.answers.set()
        self.published: list[EffectProgress] = []
        self.log = EventLog(self.clock, self._on_event)
        played: Any = self
        session = ExperimentSession(
            spec=played,
            server=played,
            load=None,
            settings=played,
            hardware=played,
            lifecycle=played,
            log=self.log,
            submit=self.change,
            start_task=lambda work, name: asyncio.create_task(work, name=name),
            publish=self._on_message,
        )
        self.tracker = EffectTracker(seconds, session, resolve=self._resolve if resolves else None)
        self.log.start(0)
        self.log.emit(EventKind.START, "go")

    def _on_message(self, message: SessionMessage) -> None:
        if isinstance(message, EffectProgress):
            self.published.append(message)

    def _on_event(self, event: Any) -> None:
        if event.kind is not EventKind.START or self.log.events:
            self.tracker.on_event(event)

    def _resolve(self, change: str, number: int, history: Sequence[Tick]) -> Resolution | None:
        if not (order := ab_order(change, ())):
            return None
        trial = ordered_resolution(
            *parse_ab(order), replace(PLAN, interval_seconds=self.seconds), 0.0, number
        )
        before = {SYNC: (ChangeSetting(SYNC, self.value),)}
        return Resolution(trial, before=before, history=history)

    @property
    def states(self) -> tuple[SettingState, ...]:
        return (SettingState(name=SYNC, value=self.value, original="1", meaning="", at_risk=False),)

    def publish_status(self) -> None:
        """Nobody looks."""

    async def submit(self, command: Change | Mark) -> str:
        """Executes an operator's command."""
        if not isinstance(command, Mark):
            await self.tracker.laboratory.give_way()
        return await self.change(command)

    async def change(self, command: Change | Mark) -> str:
        await self.answers.wait()
        if isinstance(command, ChangeSetting):
            old, self.value = self.value, command.value
            self.log.emit(EventKind.SETTING, f"{SYNC} {old} → {self.value}")
        elif isinstance(command, SetThreads):
            self.log.emit(EventKind.THREADS, "threads 8 → 9")
        return f"{SYNC} → {self.value}"

    async def run(self, seconds: float, *, until_known: bool = False) -> None:
        """The load runs, at most until an effect is known."""
        for _ in range(round(seconds / self.seconds)):
            self.clock.advance(self.seconds)
            level = math.log(self.effect) if self.value == "0" else 0.0
            rate = round(1000 * math.exp(level + self.rng.gauss(0, self.noise)))
            server = server_tick(log_fsyncs_per_second=rate, completed=rate)
            known = sample(1, load=load_part(transactions_per_second=rate), server=server)
            commit_us = 2e6 if self.value == "1" else 1e6
            known.tick.sums.update({"time.completed": rate, "time.connections_us": commit_us})
            known.tick.sums["time.commit_us"] = commit_us
            self.tracker.tick(known)
            for _ in range(9):
                await asyncio.sleep(0)
            if until_known and (self.effects or self.not_measured):
                return

    @property
    def effects(self) -> list[Effect]:
        return [event.effect for event in self.log.events if event.effect is not None]

    @property
    def not_measured(self) -> list[str]:
        return [event.not_measured for event in self.log.events if event.not_measured]

    @property
    def is_alternating(self) -> bool:
        progress = self.tracker.effect_progress
        return progress is not None and progress.alternates


@pytest.mark.parametrize("seconds", [0.5, 1.0, 3.0])
async def test_a_doubtful_effect_is_decided_by_alternation(seconds: float) -> None:
    server = PrivateServer(noise=0.16, seconds=seconds)
    await server.run(30 * seconds)
    await server.submit(ChangeSetting(SYNC, "0"))
    await server.run(9 * seconds)
    assert server.is_alternating
    assert not server.effects, "one answer, not two"
    await server.run(200 * seconds, until_known=True)
    (effect,) = server.effects
    assert effect.markers == (1,)
    assert effect.comparisons[0].verdict is Verdict.HIGHER
    assert because_text(effect.because).startswith("because: commit −"), "the sentence is that of both values"
    window = max(2.0, 2 * seconds)
    assert effect.alternated_seconds in [2 * window * look for look in LOOKS]
    assert (server.value, server.is_alternating) == ("0", False)
    numbers = [event.marker for event in server.log.events if event.kind is EventKind.SETTING]
    assert list(filter(None, numbers)) == [1]


async def test_the_card_has_the_difference_from_the_first_second_on_and_says_which_value_holds() -> None:
    server = PrivateServer(noise=0.16)
    await server.run(30)
    await server.submit(ChangeSetting(SYNC, "0"))
    widths, seen = [], set[tuple[str, int, int]]()
    for _ in range(16):
        await server.run(1)
        progress = server.tracker.effect_progress
        assert progress is not None
        assert server.published[-1].comparisons == progress.comparisons
        first = progress.comparisons[0]
        assert first.percent_low is not None
        assert first.percent_high is not None
        assert first.percent_low < 42 < first.percent_high
        widths.append(math.log(100 + first.percent_high) - math.log(100 + first.percent_low))
        if progress.holds:
            assert progress.holds == f"{SYNC} {server.value}"
            seen.add((progress.holds, progress.turn, progress.turns))
        assert progress.time_before.keys() == {"commit"}
    assert widths[0] > widths[3] > widths[7] > widths[15]
    assert {turn for _, turn, _ in seen} == {1, 2, 3}
    assert {holds for holds, *_ in seen} == {f"{SYNC} 0", f"{SYNC} 1"}
    assert {turns for *_, turns in seen} == {LOOKS[-1]}
    await server.run(60, until_known=True)
    assert server.tracker.effect_progress is None
    assert server.effects[0].time_before["commit"] > 1.5 * server.effects[0].time_after["commit"]


async def test_an_alternation_is_no_ab_test_of_status_and_summary() -> None:
    server = PrivateServer(noise=0.16)
    await server.run(30)
    await server.submit(ChangeSetting(SYNC, "0"))
    await server.run(13)
    assert server.is_alternating
    status, summary = example_status(), example_summary()
    for kind, begun in server.tracker.laboratory.by_kind().items():
        assert kind.in_status(status, begun[-1]) == status
        assert kind.in_summary(summary, begun, "") == summary
    assert server.tracker.laboratory.by_kind(), "it has begun"


async def test_what_is_taken_back_is_not_tried_again() -> None:
    """Its effect is measured as any; only the values of risk are not set once more without being asked."""
    server = PrivateServer(noise=0.16)
    await server.run(30)
    with server.tracker.command_running(Origin.UNDO):
        await server.submit(ChangeSetting(SYNC, "0"))
    await server.run(60, until_known=True)
    assert not server.is_alternating
    (effect,) = server.effects
    assert effect.alternated_seconds is None


async def test_a_clear_effect_needs_no_alternation() -> None:
    server = PrivateServer(noise=0.02)
    await server.run(30)
    await server.submit(ChangeSetting(SYNC, "0"))
    await server.run(9)
    (effect,) = server.effects
    assert (effect.alternated_seconds, effect.comparisons[0].verdict) == (None, Verdict.HIGHER)


async def test_an_effect_without_a_steady_load_before_it_is_decided_too() -> None:
    server = PrivateServer(noise=0.02)
    await server.run(3)
    await server.submit(ChangeSetting(SYNC, "0"))
    await server.run(60, until_known=True)
    (effect,) = server.effects
    assert effect.comparisons[0].percent == pytest.approx(42, abs=4)
    assert not server.not_measured


@pytest.mark.parametrize("command", [SetThreads(9), ChangeSetting(SYNC, "1")])
async def test_the_operators_next_change_ends_it_at_once(command: Change) -> None:
    server = PrivateServer(noise=0.16)
    await server.run(30)
    await server.submit(ChangeSetting(SYNC, "0"))
    await server.run(13)
    assert server.is_alternating
    await server.submit(command)
    assert server.value == ("1" if isinstance(command, ChangeSetting) else "0")
    changes = [event.marker for event in server.log.events if event.kind is not EventKind.EFFECT]
    assert [marker for marker in changes if marker] == [1, 2]
    assert [effect.comparisons[0].differs for effect in server.effects] == [False], (
        "what was known without it"
    )
    await server.run(3)
    assert server.tracker.laboratory.present is None or isinstance(command, ChangeSetting)


async def test_the_operators_next_change_ends_one_that_is_just_starting() -> None:
    """A slow server has not yet answered to its first value; the change does not wait for the alternation."""
    server = PrivateServer(noise=0.16)
    await server.run(30)
    await server.submit(ChangeSetting(SYNC, "0"))
    server.answers.clear()
    while server.tracker.laboratory.present is None:
        await server.run(1)
    change = asyncio.create_task(server.submit(ChangeSetting(SYNC, "100")))
    await server.run(1)
    assert not change.done()
    server.answers.set()
    await server.run(1)
    assert change.done()
    assert server.value == "100"


async def test_a_mark_does_not_end_it() -> None:
    server = PrivateServer(noise=0.16)
    await server.run(30)
    await server.submit(ChangeSetting(SYNC, "0"))
    await server.run(13)
    await server.submit(Mark("look here"))
    server.log.emit(EventKind.MARK, "look here")
    await server.run(60, until_known=True)
    assert server.effects[0].alternated_seconds


async def test_on_other_servers_the_operator_decides() -> None:
    server = PrivateServer(noise=0.16, resolves=False)
    await server.run(30)
    await server.submit(ChangeSetting(SYNC, "0"))
    await server.run(90, until_known=True)
    (effect,) = server.effects
    assert (effect.alternated_seconds, server.tracker.laboratory.present) == (None, None)


async def test_the_end_of_the_load_leaves_nothing_open() -> None:
    server = PrivateServer(noise=0.16)
    await server.run(30)
    await server.submit(ChangeSetting(SYNC, "0"))
    await server.run(13)
    server.tracker.end()
    assert len(server.effects) == 1
    assert not server.is_alternating
