"""A probe for the saturation point, of a run (`probe`) or by an operator (key `P`, `ctl probe`).

    level wanted ── applied ──> step ── tick, tick, … ──> step over ──> next level wanted, or the end
         next_step: the step ends now      a change: it starts over      by hand: the probe ends now

What is measured next, and when a step is over, is decided by the search (`plan`). However a probe ends, there
is a result of what was measured (`result`), and the load returns to what it was; threads or a rate set by
hand stay.
"""

import asyncio
import math
import os
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from tuibench.demo.process import is_private_socket
from tuibench.errors import UsageError
from tuibench.metrics.measurement_warnings import HostTick, TickAlarm, busy_host, cpu_of_hosts, worst_of
from tuibench.metrics.thresholds import parse_objectives
from tuibench.model.command import StartProbe, StopProbe
from tuibench.model.event import Event, EventKind
from tuibench.model.message import NO_LOAD_REFUSAL
from tuibench.model.plan import RunPlan
from tuibench.model.probe import ProbeEnd, ProbeOrder, ProbeResult, ProbeState, ProbeStep, StepPurpose, UslFit
from tuibench.model.schedule import Quantity
from tuibench.model.server import Target
from tuibench.model.settings import SettingRole, SettingState, settings_with
from tuibench.model.tick import Sample, Tick
from tuibench.probe.plan import (
    SHORTEST_STEP_SECONDS,
    Bracket,
    NextLevel,
    ProbeProgress,
    StepRun,
    bracket_of,
    end_of_climb,
    level_ceiling,
    next_level,
)
from tuibench.probe.result import deciding_sweep, formal_run_commands, result_of, usl_of
from tuibench.probe.text import probe_level_text, probe_lines
from tuibench.session.laboratory import OF_EVENTS, Experiment, ExperimentSession, LoadLevel

LOAD = "load"
"""What a probe sets."""

DISTURBING = frozenset({EventKind.SETTING, EventKind.FOREIGN, EventKind.WEIGHTS, EventKind.DELAY})
PRIVATE_SERVER_NOTE = (
    "The commands below name a private server: replace its address with that of the server to test."
)


class Probe(Experiment):
    """One probe; its load was `threads` and `rate` before. `is_local` is True if the server runs on this
    host.

    `settings` are those of the server at present. `ceiling` is the highest level; it is 0 until the first
    tick has shown how many connections the server allows. `result` is that of a probe that is over.
    """

    called, name = "probe", "a probe"
    starts, stops = StartProbe, StopProbe
    told_kind = EventKind.PLAN
    is_announced = False
    is_guarded = False

    def __init__(
        self,
        order: ProbeOrder,
        plan: RunPlan,
        target: Target,
        settings: Callable[[], tuple[SettingState, ...]],
        *,
        threads: int,
        rate: float,
        is_local: bool = True,
        cores: int | None = None,
        is_by_hand: bool = False,
    ) -> None:
        super().__init__(is_by_hand=is_by_hand, before={LOAD: (LoadLevel(threads, rate),)})
        self.order = order
        self.reply = f"probing by {order.by}, about {order.seconds:g} s"
        self.ceiling = 0.0
        self.steps: list[ProbeStep] = []
        self.end_kind = ProbeEnd.ABORTED
        self.result: ProbeResult | None = None
        self._plan = plan
        self._target = target
        self._settings = settings
        self._threads, self._rate = threads, rate
        self._is_local = is_local
        self._cores = cores
        self._objectives = parse_objectives(order.slo)
        self._now = self._began_at = 0.0
        self._next: NextLevel | None = None
        self._run: StepRun | None = None
        self._fit: UslFit | None = None
        self._bracket: Bracket | None = None
        self._busy: TickAlarm[HostTick] = TickAlarm()
        self._disturbances: list[str] = []
        self._is_paused = self._has_answered = False

    @classmethod
    async def of_plan(cls, session: ExperimentSession) -> "Probe | None":
        order = session.spec.plan.probe
        return None if order is None else cls._of_order(order, session)

    @classmethod
    async def of_command(cls, command: Any, session: ExperimentSession, number: int) -> "Probe":
        return cls._of_order(command.order, session, is_by_hand=True)

    @classmethod
    def _of_order(cls, order: ProbeOrder, session: ExperimentSession, *, is_by_hand: bool = False) -> "Probe":
        if session.load is None:
            raise UsageError(NO_LOAD_REFUSAL)
        return cls(
            order,
            session.spec.plan,
            session.spec.target,
            lambda: session.settings.states,
            threads=session.load.threads,
            rate=session.load.rate,
            is_local=session.server.is_local,
            cores=os.cpu_count() if session.server.is_local else None,
            is_by_hand=is_by_hand,
        )

    @property
    def progress(self) -> ProbeProgress:
        """All measurements so far."""
        now = self._now if self.ended_at is None else self.ended_at
        return ProbeProgress(self.order, self.ceiling, self.steps, now - self._began_at)

    @property
    def message(self) -> ProbeState:
        progress, run = self.progress, self._run
        state = ProbeState(
            order=self.order,
            steps=tuple(self.steps),
            ceiling=self.ceiling,
            elapsed_seconds=progress.elapsed_seconds,
            knee=self._bracket.level if self._bracket else None,
            busy=self._busy.text.partition(": ")[2] if self._busy.now else "",
            fit=self._fit,
            result=self.result,
        )
        if run is None:
            return state
        known = run.known
        return replace(
            state,
            purpose=run.purpose,
            level=run.level,
            step_seconds=self._now - run.at_seconds,
            tps=known.mean or None,
            half_width=known.half_width if math.isfinite(known.half_width) else None,
            p95_ms=run.p95_ms,
            waiting=run.waiting(),
        )

    def begin(self, now: float) -> None:
        self._now = self._began_at = now

    def tick(self, slot: Tick, sample: Sample, disturbance: str = "") -> bool:
        self._now = slot.end
        self._busy.add(worst_of(map(busy_host, cpu_of_hosts(sample.hosts, sample.host))))
        if self._is_paused:
            return False
        if not self.ceiling:
            self._began_at = self._now
            self.ceiling = max(level_ceiling(self.order, sample, self._cores), self.order.least, 1.0)
            self._want_next()
        elif self._is_away(sample):
            if self.progress.left_seconds <= 0:
                self.end(self._now, "the server does not answer")
            self._restart_step(self._now)
        elif self._run is not None:
            self._run.add_tick(slot, sample)
            if self._run.is_over(self._now):
                self._finish_step(self._now)
        return True

    def _is_away(self, sample: Sample) -> bool:
        """Whether a server that has answered before does not answer: no collapse, and nothing to measure."""
        self._has_answered = self._has_answered or sample.server is not None
        return self._has_answered and sample.server is None and not sample.tick.sums.get("completed")

    def _want_next(self) -> None:
        """Ask for the next level; without one the probe is over."""
        self._next = next_level(self.progress)
        if self._next is None:
            self._end(end_of_climb(self.progress) or ProbeEnd.TIME, "", self._now)
            return
        level, purpose = self._next
        words = "without a rate" if purpose is StepPurpose.SCALE else probe_level_text(self.order, level)
        by_threads = self.order.by is Quantity.THREADS
        threads, rate = (int(level), self._rate) if by_threads else (self._threads, level)
        self.wanted = {LOAD: LoadLevel(threads, rate, f"probe: {words} ({purpose})")}

    def applied(self, now: float) -> None:
        if self._next is None:
            return
        self._now = max(self._now, now)
        level, purpose = self._next
        left = max(SHORTEST_STEP_SECONDS, self.progress.left_seconds)
        self._run = StepRun(self.order.by, level, purpose, now, min(self.order.step_seconds, left))
        self._next = None

    def _finish_step(self, now: float) -> None:
        """The step is a finding, unless its time went by before its connections were open: then that is all
        that can be said, and the probe ends.
        """
        self._now = max(self._now, now)
        if self._run is not None:
            if self._run.is_connecting:
                self._end(ProbeEnd.TIME, self._run.waiting(), now)
                return
            self.steps.append(self._run.finished(now, self._objectives, is_local=self._is_local))
        self._run = None
        self._bracket = bracket_of(self.progress)
        self._want_next()

    def next_step(self, now: float) -> None:
        """End the step with what is known. Raises UsageError if nothing is known."""
        if self._run is None:
            raise UsageError("no step is being measured now")
        if not self._run.known.mean:
            raise UsageError("nothing of this step is measured yet")
        self._finish_step(now)

    def on_change(self, event: Event) -> None:
        """A restart of the server ends the probe; what changes the transactions restarts its step."""
        now = event.elapsed_seconds
        if event.kind is EventKind.RESTART:
            self.end(now, OF_EVENTS[event.kind])
        elif event.kind in (EventKind.PAUSE, EventKind.RESUME):
            self._is_paused = event.kind is EventKind.PAUSE
            self._restart_step(now)
        elif event.kind in DISTURBING:
            self._disturbances.append(f"the load was changed during the probe: {event.text}")
            self._restart_step(now)

    def disturb(self, why: str, *, is_late: bool = False) -> None:
        self._restart_step(self._now)

    def _restart_step(self, now: float) -> None:
        if (old := self._run) is not None:
            self._run = StepRun(self.order.by, old.level, old.purpose, now, old.most_seconds)

    def on_manual_load(self, quantity: Quantity, now: float) -> None:
        self.before = {LOAD: ()}
        self.end(now, f"the {quantity} {'were' if quantity is Quantity.THREADS else 'was'} set manually")

    def end(self, now: float, why: str = "") -> None:
        """End with what was measured; a step counts if its throughput is known."""
        if not self.is_over:
            if self._run is not None and self._run.is_stable:
                self.steps.append(self._run.finished(now, self._objectives, is_local=self._is_local))
            self._end(ProbeEnd.ABORTED, why, now)

    def _end(self, kind: ProbeEnd, why: str, now: float) -> None:
        super().end(now, why)
        self.end_kind = kind
        self._run = self._next = None

    async def evaluate(self) -> bool:
        """Fit the curve once levels in between are measured, and at the end; then state the result."""
        is_refined = self._next is not None and self._next.purpose in (
            StepPurpose.REFINE,
            StepPurpose.CONFIRM,
        )
        if self.is_over and self.ceiling and self.result is None:
            self._fit = await fit_usl(self.progress)
            self.result = self._stated()
            self.told.append(f"probe: {self.result.lines[0]}")
            return True
        if is_refined and self._fit is None:
            self._fit = await fit_usl(self.progress)
        return False

    def _stated(self) -> ProbeResult:
        """The result in figures and words, with the commands for the level that is worth a formal run."""
        found = result_of(self.progress, self.end_kind, self.why_ended, self._fit, self._disturbances)
        commit = tuple(each for each in settings_with(SettingRole.PANEL, self._settings()) if each.value)
        found = replace(found, durability={each.name: each.value for each in commit})
        lines, level = probe_lines(found), found.recommended
        if level is not None:
            commands = formal_run_commands(
                self._plan,
                self._target,
                self.order.by,
                level,
                self._threads,
                has_password=bool(self._target.password or self._target.password_command),
                settings=commit,
            )
        elif found.is_inconclusive and not self.order.slo:
            commands = deciding_sweep(self._plan, self._target, found)
        else:
            return replace(found, lines=lines)
        note = (PRIVATE_SERVER_NOTE,) if is_private_socket(self._target.socket) else ()
        return replace(found, lines=(*lines, *note), commands=commands)


async def fit_usl(progress: ProbeProgress) -> UslFit:
    """The curve through what was measured; in a thread, as its library takes a second to load."""
    return await asyncio.to_thread(usl_of, progress)
