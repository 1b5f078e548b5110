"""A run's probe: has its levels set, shows it every tick, and tells what comes of it. One at a time.

What to measure is the plan's (see `probe`). A level is set like a command, so an operator's own commands come
in between: threads or a rate set by hand end the probe, another change makes its step begin anew. Whatever
ends it, what was measured is answered for, and the load goes back to what it was.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from msgspec.structs import replace

from tuibench.errors import TuibenchError, UsageError
from tuibench.metrics.objectives import objectives_in
from tuibench.model.event import Event, EventKind
from tuibench.model.message import Downward, RunState
from tuibench.model.plan import Plan
from tuibench.model.probe import ProbeOrder, ProbeResult, ProbeState, Purpose, UslFit
from tuibench.model.sample import Sample
from tuibench.model.schedule import Quantity
from tuibench.model.summary import Outcome
from tuibench.model.target import Target
from tuibench.record.probe_text import level_words, probe_lines
from tuibench.record.text import Interval
from tuibench.session.events import EventLog
from tuibench.session.probe import ProbePlan
from tuibench.session.probe_answer import answer, usl_of
from tuibench.session.probe_commands import commands
from tuibench.session.probe_ladder import Gone
from tuibench.session.probe_reading import ceiling, tick_of
from tuibench.session.steered import SteeredLoad

DISTURBING = frozenset({EventKind.SETTING, EventKind.FOREIGN, EventKind.WEIGHTS, EventKind.DELAY})
BY_HAND = "set by hand"

Level = tuple[int, float]
"""Threads, and a rate."""


class PlanHeld(Protocol):
    """The plan of the load, which gives way."""

    def overruled(self, quantity: Quantity) -> str: ...


class Probed(Protocol):
    """What probing needs of a session."""

    state: RunState

    @property
    def pace(self) -> SteeredLoad: ...

    @property
    def planned(self) -> PlanHeld: ...

    def lead(self, level: Level) -> Awaitable[None]: ...

    def request_stop(self, outcome: Outcome = ...) -> None: ...

    def fail(self, error: TuibenchError) -> None: ...


class Probing:
    """Starts, follows and ends probes. `result` is that of the last one."""

    def __init__(
        self,
        session: Probed,
        plan: Plan,
        target: Target,
        log: EventLog,
        publish: Callable[[Downward], None],
    ) -> None:
        self.result: ProbeResult | None = None
        self._session = session
        self._run_plan = plan
        self._target = target
        self._log = log
        self._publish = publish
        self._ordered: ProbeOrder | None = None
        self._plan: ProbePlan | None = None
        self._fit: UslFit | None = None
        self._disturbances: list[str] = []
        self._before: Level = (plan.threads, plan.rate)
        self._moving: asyncio.Task[None] | None = None
        self._has_answered = False

    @property
    def state(self) -> ProbeState | None:
        """Where the probe stands, or how the last one ended; None if there was none."""
        if self._plan is None:
            return ProbeState(order=self._ordered) if self._ordered else None
        state = self._plan.state(self._log.elapsed_seconds(), self._fit)
        return replace(state, result=self.result)

    @property
    def is_under_way(self) -> bool:
        return self._ordered is not None or (self._plan is not None and not self._plan.is_over)

    def start(self, order: ProbeOrder) -> str:
        """Begins with the next tick. Raises UsageError for what cannot be probed, or not now."""
        objectives_in(order.slo)
        if self._run_plan.trial is not None:
            raise UsageError("a trial is under way; its load must stay as it is")
        if self._session.state is not RunState.RUNNING:
            raise UsageError(f"the load is not running: {self._session.state}")
        if self.is_under_way:
            raise UsageError("a probe is under way already", "stop it first")
        self._ordered, self._plan, self.result = order, None, None
        self._fit, self._disturbances = None, []
        pace = self._session.pace
        self._before = (pace.threads, pace.rate)
        held = self._session.planned.overruled(order.by)
        return f"probing by {order.by}, about {order.seconds:g} s{held}"

    def stop(self) -> str:
        """Ends it here; the load goes back. Raises UsageError if there is none."""
        self._demand()
        self._abort("stopped by the operator")
        return "the probe is stopped"

    def jump(self) -> str:
        """Goes on to the next level. Raises UsageError if there is no step to end."""
        self._demand()
        if self._plan is None or self._moving is not None:
            raise UsageError("no step is being measured now")
        self._plan.jump(self._log.elapsed_seconds())
        self._follow()
        return "on to the next step"

    def overruled(self, quantity: Quantity) -> str:
        """The operator steers by hand: a probe ends. What to add to the answer."""
        if not self.is_under_way:
            return ""
        self._before = (self._session.pace.threads, self._session.pace.rate)
        self._abort(f"the {quantity} {'were' if quantity is Quantity.THREADS else 'was'} {BY_HAND}")
        return "; the probe is stopped"

    def tick(self, sample: Sample, interval: Interval) -> None:
        """One tick of the measured run."""
        now = self._log.elapsed_seconds()
        if self._ordered is not None and self._session.state is RunState.RUNNING:
            self._begin(self._ordered, sample, now)
        plan = self._plan
        if plan is None or plan.is_over or self._session.state is not RunState.RUNNING:
            return
        if self._is_away(sample, interval):
            self._wait_for_server(plan, now)
        else:
            plan.take(tick_of(sample, interval, now, self._session.pace.threads), now)
        self._follow()
        self._tell()

    def heard(self, event: Event) -> None:
        """Something happened that a probe must know of."""
        if event.kind is EventKind.START and self._run_plan.probe is not None:
            self._ordered = self._run_plan.probe
        if self._plan is None or self._plan.is_over:
            return
        if event.kind is EventKind.RESTART:
            self._abort("the server was restarted")
        elif event.kind is EventKind.RESUME:
            self._plan.again(event.elapsed_seconds)
        elif event.kind in DISTURBING:
            self._disturbances.append(f"it was changed meanwhile: {event.text}")
            self._plan.again(event.elapsed_seconds)

    async def close(self, outcome: Outcome) -> None:
        """The run has ended: what there is is answered for."""
        self._ordered = None
        if self._plan is not None:
            self._plan.abort(f"the run was {outcome}", self._log.elapsed_seconds())
        if self._moving is not None:
            await asyncio.wait({self._moving})
        if self._plan is not None and self.result is None:
            await self._conclude(self._plan)

    def _is_away(self, sample: Sample, interval: Interval) -> bool:
        """Whether a server that has answered before is gone: no collapse, but nothing to measure, either."""
        self._has_answered = self._has_answered or sample.server is not None
        return self._has_answered and sample.server is None and not interval.transactions

    def _wait_for_server(self, plan: ProbePlan, now: float) -> None:
        if plan.is_late(now):
            plan.abort("the server does not answer", now)
        else:
            plan.again(now)

    def _demand(self) -> None:
        if not self.is_under_way:
            raise UsageError("no probe is under way")

    def _begin(self, order: ProbeOrder, sample: Sample, now: float) -> None:
        self._ordered = None
        self._plan = ProbePlan(order, ceiling(order, sample), now)
        self._follow()

    def _abort(self, reason: str) -> None:
        if self._plan is None:
            self._ordered = None
            return
        self._plan.abort(reason, self._log.elapsed_seconds())
        self._follow()

    def _follow(self) -> None:
        """Has the next level set, or the end told; a tick waits for neither."""
        plan = self._plan
        if plan is None or self._moving is not None or (plan.move is None and not plan.is_over):
            return
        self._moving = asyncio.create_task(self._move(plan), name="probe")

    async def _move(self, plan: ProbePlan) -> None:
        try:
            while plan.move is not None and not plan.is_over:
                level, purpose = plan.move
                if purpose in (Purpose.REFINE, Purpose.BACK) and self._fit is None:
                    self._fit = await fitted(plan.gone())
                words = "without a rate" if purpose is Purpose.SCALE else level_words(plan.order, level)
                self._log.tell(EventKind.PROBE, f"probe: {words} ({purpose})")
                await self._session.lead(self._level(plan.order, level))
                plan.entered(self._log.elapsed_seconds())
            if plan.is_over and self.result is None:
                await self._session.lead(self._before)
                await self._conclude(plan)
        except TuibenchError as error:
            self._session.fail(error)
        finally:
            self._moving = None
            self._tell()

    def _level(self, order: ProbeOrder, level: float) -> Level:
        return (int(level), self._before[1]) if order.by is Quantity.THREADS else (self._before[0], level)

    async def _conclude(self, plan: ProbePlan) -> None:
        """The result in figures and words; a probe that is the whole run ends it."""
        gone = plan.gone()
        self._fit = await fitted(gone)
        if plan.end is None:
            return
        found = answer(gone, plan.end, plan.reason, self._fit, self._disturbances)
        self.result = replace(found, lines=probe_lines(found), commands=self._commands(found))
        self._log.tell(EventKind.PLAN, f"probe: {self.result.lines[0]}")
        self._tell()
        if self._run_plan.probe is not None:
            self._session.request_stop("done")

    def _commands(self, found: ProbeResult) -> dict[str, str]:
        """For the level that is worth a formal run."""
        best = found.objective.best if found.objective else None
        step = found.knee or found.peak
        level = best if best is not None else step.level if step else None
        if level is None:
            return {}
        has_password = bool(self._target.password or self._target.password_command)
        return commands(
            self._run_plan,
            self._target,
            found.order.by,
            level,
            self._before[0],
            has_password=has_password,
        )

    def _tell(self) -> None:
        if (state := self.state) is not None:
            self._publish(state)


async def fitted(gone: Gone) -> UslFit:
    """The curve through what was measured; in a thread, as its library takes a second to load."""
    return await asyncio.to_thread(usl_of, gone)
