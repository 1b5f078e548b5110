"""Runner of a load plan: waits for the next change of level and applies it."""

import asyncio
from collections.abc import Awaitable, Callable

from tuibench.clock import Clock
from tuibench.errors import UsageError
from tuibench.model.event import EventKind
from tuibench.model.schedule import PlanProgress, Quantity, Schedule, format_schedule, validate_schedule
from tuibench.session.events.event_log import EventLog
from tuibench.session.plan.timeline import LevelChange, PlanTimeline

AFTER_TICK_SECONDS = 0.01
"""A plan starts this much later than the measurement: its changes then come just after a sample instead of at
the same time, and a sample belongs to one level.
"""

BY_HAND = "held manually"

DueChanges = Callable[[], list[LevelChange]]


class PlanRunner:
    """The plan of a run. `follow` makes the changes that are due."""

    def __init__(
        self, stages: Schedule, log: EventLog, clock: Clock, follow: Callable[[DueChanges], Awaitable[None]]
    ) -> None:
        self._timeline = PlanTimeline(stages) if stages else None
        self._log = log
        self._clock = clock
        self._follow = follow
        self._changed = asyncio.Event()
        self._is_over_reported = False

    @property
    def state(self) -> PlanProgress | None:
        """The progress of the plan; None without one."""
        return self._timeline.state(self._now) if self._timeline is not None else None

    def set(self, stages: Schedule) -> str:
        """Replace the plan."""
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
            or not timeline.is_about(quantity)
        ):
            return ""
        timeline.hold(self._now, f"the {quantity} were set manually")
        self._log.emit(EventKind.PLAN, f"plan held: the {quantity} were set manually")
        self._changed.set()
        return "; the plan is held"

    def pause(self) -> None:
        """The load is paused."""
        if self._timeline is not None:
            self._timeline.pause(self._now)
            self._changed.set()

    def unpause(self) -> None:
        """The load continues."""
        if self._timeline is not None:
            self._timeline.unpause(self._now)
            self._changed.set()

    async def run(self) -> None:
        """Start the plan with the measurement, and follow it, and any later plan, until cancelled."""
        if self._timeline is not None and not self._timeline.is_begun:
            self._timeline.begin(AFTER_TICK_SECONDS)
        while True:
            self._changed.clear()
            if self._timeline is not None:
                await self._follow(self._due)
                self._emit_over(self._timeline)
            await self._wait()

    def _due(self) -> list[LevelChange]:
        return self._timeline.due(self._now) if self._timeline is not None else []

    def _emit_over(self, timeline: PlanTimeline) -> None:
        if timeline.is_over(self._now) and not self._is_over_reported:
            self._is_over_reported = True
            self._log.emit(EventKind.PLAN, "the plan has ended; its last level stays")

    async def _wait(self) -> None:
        """Until something is due, or something changes."""
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

    def _under_way(self) -> PlanTimeline:
        if self._timeline is None or self._timeline.is_over(self._now):
            raise UsageError("no plan is running", "give one, such as 8:30s,16:30s,64:1m")
        return self._timeline

    @property
    def _now(self) -> float:
        return self._log.elapsed_seconds()

    @property
    def _measured_now(self) -> float:
        """Now, or when the measuring begins: a plan does not advance during the warm-up."""
        return max(self._now, AFTER_TICK_SECONDS)
