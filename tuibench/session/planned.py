"""Makes the load follow its plan: waits for the next move, and has it made. One plan at a time, or none."""

import asyncio
from collections.abc import Awaitable, Callable

from tuibench.clock import Clock
from tuibench.errors import UsageError
from tuibench.model.event import EventKind
from tuibench.model.progress import PlanState
from tuibench.model.schedule import Quantity, Schedule, checked_schedule
from tuibench.model.schedule_text import schedule_text
from tuibench.session.course import Course
from tuibench.session.events import EventLog
from tuibench.session.schedule import Move

AFTER_TICK_SECONDS = 0.01
"""A plan begins so much after the start of measuring: its moves then come just after a tick, not at the same
time, and a sample belongs to one level."""

BY_HAND = "held by hand"

Due = Callable[[], list[Move]]


class Planned:
    """The plan of a run. `follow` has the moves made that are due when their turn comes."""

    def __init__(
        self, stages: Schedule, log: EventLog, clock: Clock, follow: Callable[[Due], Awaitable[None]]
    ) -> None:
        self._course = Course(stages) if stages else None
        self._log = log
        self._clock = clock
        self._follow = follow
        self._changed = asyncio.Event()
        self._is_told_over = False

    @property
    def state(self) -> PlanState | None:
        """Where the plan stands; None without one."""
        return self._course.state(self._now) if self._course is not None else None

    def set(self, stages: Schedule) -> str:
        """Another plan, from now on."""
        course = Course(checked_schedule(stages))
        course.begin(self._measured_now)
        self._course, self._is_told_over = course, False
        self._log.tell(EventKind.PLAN, f"plan {schedule_text(stages)}")
        self._changed.set()
        return f"plan: {schedule_text(stages)}"

    def hold(self) -> str:
        """Stops it where it stands. Raises UsageError if there is nothing to hold."""
        course = self._under_way()
        if course.held:
            return "the plan is held already"
        course.hold(self._now, BY_HAND)
        self._log.tell(EventKind.PLAN, "plan held")
        self._changed.set()
        return "the plan is held; it goes on from here when it is resumed"

    def resume(self) -> str:
        """Lets it go on from where it was held. Raises UsageError if there is nothing to go on with."""
        course = self._under_way()
        if not course.held:
            return "the plan is not held"
        course.resume(self._measured_now)
        self._changed.set()
        return "the plan goes on"

    def overruled(self, quantity: Quantity) -> str:
        """The operator steers by hand: a plan for the same thing is held. What to add to the answer."""
        course = self._course
        if course is None or course.held or course.is_over(self._now) or not course.is_about(quantity):
            return ""
        course.hold(self._now, f"the {quantity} were set by hand")
        self._log.tell(EventKind.PLAN, f"plan held: the {quantity} were set by hand")
        self._changed.set()
        return "; the plan is held"

    def pause(self) -> None:
        """The load is paused."""
        if self._course is not None:
            self._course.pause(self._now)
            self._changed.set()

    def go_on(self) -> None:
        """The load goes on."""
        if self._course is not None:
            self._course.go_on(self._now)
            self._changed.set()

    async def run(self) -> None:
        """Begins the plan with the measuring, and follows it, and any other, until cancelled."""
        if self._course is not None and not self._course.is_begun:
            self._course.begin(AFTER_TICK_SECONDS)
        while True:
            self._changed.clear()
            if self._course is not None:
                await self._follow(self._due)
                self._tell_over(self._course)
            await self._wait()

    def _due(self) -> list[Move]:
        return self._course.due(self._now) if self._course is not None else []

    def _tell_over(self, course: Course) -> None:
        if course.is_over(self._now) and not self._is_told_over:
            self._is_told_over = True
            self._log.tell(EventKind.PLAN, "the plan is over; its last level stays")

    async def _wait(self) -> None:
        """Until something is due, or something changes."""
        due = self._course.next_due(self._now) if self._course is not None else None
        changed = asyncio.create_task(self._changed.wait())
        waiting: set[asyncio.Task[object]] = {changed}
        if due is not None:
            waiting.add(asyncio.create_task(self._clock.sleep(max(0.0, due - self._now))))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()

    def _under_way(self) -> Course:
        if self._course is None or self._course.is_over(self._now):
            raise UsageError("there is no plan under way", "give one, such as 8:30s,16:30s,64:1m")
        return self._course

    @property
    def _now(self) -> float:
        return self._log.elapsed_seconds()

    @property
    def _measured_now(self) -> float:
        """Now, or when the measuring begins: a plan does not pass with the warm-up."""
        return max(self._now, AFTER_TICK_SECONDS)
