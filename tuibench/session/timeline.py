"""The plan of a load (`--plan`, `--ramp`, `ctl plan`): stages of threads and rate, followed by the clock.

    stages ──> level changes ──> timeline: which are due ──> runner: makes them

Level changes are the plan as a list: the second of the plan at which each level begins. The timeline takes
elapsed seconds and returns changes, without a clock and without I/O:

    waiting ──begin──> running ──> over
                        │   ^
             hold, pause│   │resume, unpause
                        v   │
                     standing still

While the operator holds the plan or the load is paused, the plan's own time stops, too. So it continues where
it stopped, and no stage is shortened.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple, assert_never

from tuibench.base.clock import Clock
from tuibench.base.errors import UsageError
from tuibench.base.units import significant
from tuibench.model.event import EventKind
from tuibench.model.schedule import (
    ConstantStage,
    PlanPhase,
    PlanProgress,
    Quantity,
    RampStage,
    Schedule,
    Stage,
    format_duration,
    format_schedule,
    validate_schedule,
)
from tuibench.session.events import EventLog
from tuibench.session.lifecycle import Lifecycle
from tuibench.session.load import LoadController

SHORTEST_LEVEL_SECONDS = 0.25
MOST_LEVELS = 3600
"""Minimum interval and maximum number of an even ramp's levels. A longer ramp has larger steps."""


class PlannedLevel(NamedTuple):
    """A level that applies from second `at` of the plan."""

    at: float
    quantity: Quantity
    level: float
    stage: int
    text: str = ""
    """Describes a new stage for the list of events; empty within an even ramp."""
    is_ramp: bool = False


def level_changes(stages: Sequence[Stage]) -> list[PlannedLevel]:
    """All level changes of a plan, in order."""
    found: list[PlannedLevel] = []
    start = 0.0
    for number, stage in enumerate(stages):
        found += _stage_changes(stage, number, start, f"plan {number + 1}/{len(stages)}")
        start += stage.seconds
    return found


def level_text(quantity: Quantity, level: float) -> str:
    """A level as text: 16 threads, 400/s, no rate."""
    if quantity is Quantity.THREADS:
        return f"{level:,.0f} {'thread' if level == 1 else 'threads'}"
    return f"{level:,.6g}/s" if level else "no rate"


def _stage_changes(stage: Stage, number: int, start: float, label: str) -> Iterator[PlannedLevel]:
    match stage:
        case ConstantStage():
            words = f"{level_text(stage.quantity, stage.level)} for {format_duration(stage.seconds)}"
            yield PlannedLevel(start, stage.quantity, stage.level, number, f"{label}: {words}")
        case RampStage():
            levels = _doubled(stage) if stage.doubling else _even(stage)
            each = stage.seconds / len(levels)
            for place, level in enumerate(levels):
                text = _ramp_text(stage, level, each, label, is_first=place == 0)
                yield PlannedLevel(
                    start + place * each, stage.quantity, level, number, text, is_ramp=place == 0
                )


def _ramp_text(ramp: RampStage, level: float, each_seconds: float, label: str, *, is_first: bool) -> str:
    """The event of a level of a ramp. An even ramp is reported once, at its start; a doubling one at every
    level.
    """
    if ramp.doubling:
        return f"{label}: {level_text(ramp.quantity, level)} for {significant(each_seconds, 3)}s"
    first, last = level_text(ramp.quantity, ramp.first), level_text(ramp.quantity, ramp.last)
    return f"{label}: from {first} to {last} in {format_duration(ramp.seconds)}" if is_first else ""


def _even(ramp: RampStage) -> list[float]:
    """Levels at equal distances, both ends included."""
    span = ramp.last - ramp.first
    if not span:
        return [ramp.first]
    steps = min(MOST_LEVELS, max(2, int(ramp.seconds / SHORTEST_LEVEL_SECONDS)))
    if _is_whole(ramp):
        steps = min(steps, int(abs(span)) + 1)
    levels = [ramp.first + span * step / (steps - 1) for step in range(steps - 1)]
    return [*(map(round, levels) if _is_whole(ramp) else levels), ramp.last]


def _doubled(ramp: RampStage) -> list[float]:
    """Each level is twice (or half) the previous one; the last step may be smaller."""
    levels = [ramp.first]
    while levels[-1] < ramp.last:
        levels.append(min(levels[-1] * 2, ramp.last))
    while levels[-1] > ramp.last:
        levels.append(max(float(levels[-1] // 2 if _is_whole(ramp) else levels[-1] / 2), ramp.last))
    return levels


def _is_whole(ramp: RampStage) -> bool:
    return ramp.quantity is Quantity.THREADS


ROUNDING_SECONDS = 1e-6
"""Tolerance for floating-point times: a change is due if its time is at most this far ahead."""


class PlanTimeline:
    """A running plan. All times are seconds of the run."""

    def __init__(self, stages: Schedule) -> None:
        self.stages = stages
        self.held = ""
        self._moves = level_changes(stages)
        self._ends = list(accumulate(stage.seconds for stage in stages))
        self._is_paused = False
        self._begun_at: float | None = None
        self._still_at: float | None = None
        self._made = 0
        self._takes_up = False

    def begin(self, now: float) -> None:
        """Second 0 of the plan is now."""
        self._begun_at = now
        if self._is_still:
            self._still_at = 0.0

    @property
    def is_begun(self) -> bool:
        return self._begun_at is not None

    def hold(self, now: float, why: str) -> None:
        """Stop the plan's time until `resume`."""
        self._stop(now)
        self.held = why

    def resume(self, now: float) -> None:
        """Continue from the held position, and set its levels again."""
        self.held = ""
        self._takes_up = True
        self._go(now)

    def pause(self, now: float) -> None:
        """The load is paused: the plan waits with it."""
        self._stop(now)
        self._is_paused = True

    def unpause(self, now: float) -> None:
        self._is_paused = False
        self._go(now)

    def elapsed(self, now: float) -> float:
        """The second of the plan, from 0."""
        if self._still_at is not None:
            return self._still_at
        return max(0.0, now - self._begun_at) if self._begun_at is not None else 0.0

    def is_over(self, now: float) -> bool:
        return self.elapsed(now) >= self._ends[-1] - ROUNDING_SECONDS

    def due(self, now: float) -> list[PlannedLevel]:
        """The changes to be made now: the newest of each quantity."""
        if self._is_still or self._begun_at is None or now < self._begun_at:
            return []
        elapsed, found = self.elapsed(now) + ROUNDING_SECONDS, []
        if self._takes_up:
            found = [
                move._replace(text=f"plan continues with {level_text(move.quantity, move.level)}")
                for move in _newest(self._moves[: self._made])
            ]
        self._takes_up = False
        while self._made < len(self._moves) and self._moves[self._made].at <= elapsed:
            found.append(self._moves[self._made])
            self._made += 1
        return _newest(found)

    def next_due(self, now: float) -> float | None:
        """The second of the run of the next change, or of the end; None if there is none."""
        if self._is_still or self._begun_at is None or self.is_over(now):
            return None
        return self._begun_at + (
            self._moves[self._made].at if self._made < len(self._moves) else self._ends[-1]
        )

    def state(self, now: float) -> PlanProgress:
        stage = self._moves[max(0, self._made - 1)].stage
        following, at = self._following(stage)
        left = max(0.0, at - self.elapsed(now))
        phase = self._phase(now)
        return PlanProgress(
            stages=self.stages,
            phase=phase,
            stage=stage + 1,
            following=following,
            due_seconds=now + left if phase is PlanPhase.RUNNING else None,
            left_seconds=left,
            held=self.held,
        )

    def _phase(self, now: float) -> PlanPhase:
        if self.is_over(now):
            return PlanPhase.OVER
        if self.held:
            return PlanPhase.HELD
        if self._is_paused:
            return PlanPhase.PAUSED
        return PlanPhase.RUNNING if self._begun_at is not None else PlanPhase.WAITING

    def _following(self, number: int) -> tuple[str, float]:
        """The next level to report, and the second of the plan at which it begins. For a ramp, its last
        level.
        """
        stage = self.stages[number]
        if isinstance(stage, RampStage) and not stage.doubling:
            return level_text(stage.quantity, stage.last), self._ends[number]
        for move in self._moves[max(1, self._made) :]:
            if move.text:
                return level_text(move.quantity, move.level), move.at
        return "", self._ends[-1]

    @property
    def _is_still(self) -> bool:
        return bool(self.held) or self._is_paused

    def _stop(self, now: float) -> None:
        if self._begun_at is not None and self._still_at is None:
            self._still_at = self.elapsed(now)

    def _go(self, now: float) -> None:
        if self._still_at is not None and not self._is_still:
            self._begun_at, self._still_at = now - self._still_at, None


def _newest(found: Iterable[PlannedLevel]) -> list[PlannedLevel]:
    """The newest change of each quantity, with the last text of the changes that it replaces."""
    newest: dict[Quantity, PlannedLevel] = {}
    for move in found:
        before = newest.get(move.quantity)
        text = move.text or (before.text if before else "")
        newest[move.quantity] = move._replace(text=text)
    return list(newest.values())


AFTER_TICK_SECONDS = 0.01
"""A plan starts this much later than the measurement. So its changes come just after a sample instead of at
the same time, and each sample belongs to one level.
"""

BY_HAND = "held manually"


class FollowPlan(NamedTuple):
    """The command of a plan to its session: make the changes that are due when it has its turn."""


class PlanRunner:
    """Makes the changes of the plan that are due. `submit` executes its command."""

    def __init__(
        self,
        stages: Schedule,
        load: LoadController,
        submit: Callable[[FollowPlan], Awaitable[str]],
        lifecycle: Lifecycle,
        log: EventLog,
        clock: Clock,
    ) -> None:
        self._timeline = PlanTimeline(stages) if stages else None
        self._load = load
        self._submit = submit
        self._lifecycle = lifecycle
        self._log = log
        self._clock = clock
        self._changed = asyncio.Event()
        self._is_over_reported = False

    @property
    def state(self) -> PlanProgress | None:
        return self._timeline.state(self._now) if self._timeline is not None else None

    def set(self, stages: Schedule) -> str:
        timeline = PlanTimeline(validate_schedule(stages))
        timeline.begin(self._measured_now)
        self._timeline, self._is_over_reported = timeline, False
        self._log.emit(EventKind.PLAN, f"plan {format_schedule(stages)}")
        self._changed.set()
        return f"plan: {format_schedule(stages)}"

    def hold(self) -> str:
        """Hold the plan at its current level. Raises UsageError if there is nothing to hold."""
        timeline = self._under_way()
        if timeline.held:
            return "the plan is already held"
        timeline.hold(self._now, BY_HAND)
        self._log.emit(EventKind.PLAN, "plan held")
        self._changed.set()
        return "the plan is held; resuming continues from here"

    def resume(self) -> str:
        """Resumes the plan where it was held. Raises UsageError if there is nothing to resume."""
        timeline = self._under_way()
        if not timeline.held:
            return "the plan is not held"
        timeline.resume(self._measured_now)
        self._changed.set()
        return "the plan continues"

    def on_manual_change(self, quantity: Quantity) -> str:
        """Hold a plan whose quantity the operator has changed; returns an addition to the reply."""
        timeline = self._timeline
        if (
            timeline is None
            or timeline.held
            or timeline.is_over(self._now)
            or not any(stage.quantity is quantity for stage in timeline.stages)
        ):
            return ""
        timeline.hold(self._now, f"the {quantity} were set manually")
        self._log.emit(EventKind.PLAN, f"plan held: the {quantity} were set manually")
        self._changed.set()
        return "; the plan is held"

    def pause(self) -> None:
        if self._timeline is not None:
            self._timeline.pause(self._now)
            self._changed.set()

    def unpause(self) -> None:
        if self._timeline is not None:
            self._timeline.unpause(self._now)
            self._changed.set()

    async def run(self) -> None:
        """Start the plan with the measurement, and follow it and any later plan, until cancelled."""
        if self._timeline is not None and not self._timeline.is_begun:
            self._timeline.begin(AFTER_TICK_SECONDS)
        while True:
            self._changed.clear()
            if self._timeline is not None:
                await self._follow()
                if self._timeline.is_over(self._now) and not self._is_over_reported:
                    self._is_over_reported = True
                    self._log.emit(EventKind.PLAN, "the plan has ended; its last level stays")
            # Wait until something is due, or something changes.
            due = self._timeline.next_due(self._now) if self._timeline is not None else None
            changed = asyncio.create_task(self._changed.wait())
            waiting: set[asyncio.Task[object]] = {changed}
            if due is not None:
                waiting.add(asyncio.create_task(self._clock.sleep(max(0.0, due - self._now))))
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in waiting:
                    task.cancel()

    async def _follow(self) -> None:
        """Have the due changes made; none once the run is ending."""
        try:
            await self._submit(FollowPlan())
        except UsageError:
            if not self._lifecycle.is_ending:
                raise

    async def make_due_changes(self) -> None:
        """Make the changes that are due now, which may be others than when the command was given.

        Connections that the server refused are not retried at every change.
        """
        load = self._load
        for move in self._timeline.due(self._now) if self._timeline is not None else ():
            match move.quantity:
                case Quantity.THREADS:
                    threads = int(move.level)
                    if load.accepted_connections is not None:
                        threads = min(threads, load.accepted_connections)
                    kind, is_change = EventKind.THREADS, threads != load.threads
                    if is_change:
                        await load.set_threads(threads)
                case Quantity.RATE:
                    kind, is_change = EventKind.RATE, move.level != load.rate
                    load.set_rate(move.level)
                case _:
                    assert_never(move.quantity)
            if move.text:
                self._log.emit(kind if is_change or move.is_ramp else EventKind.PLAN, move.text)

    def _under_way(self) -> PlanTimeline:
        if self._timeline is None or self._timeline.is_over(self._now):
            raise UsageError("no plan is running", "give one, such as 8:30s,16:30s,64:1m")
        return self._timeline

    @property
    def _now(self) -> float:
        return self._log.elapsed_seconds()

    @property
    def _measured_now(self) -> float:
        """Now, or the start of the measurement: a plan does not advance during the warm-up."""
        return max(self._now, AFTER_TICK_SECONDS)
