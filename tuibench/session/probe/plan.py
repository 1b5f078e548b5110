"""State machine of a probe: ticks in, levels out. Without a clock and without I/O.

    entered ──tick, tick, …──> step over ──> next level to enter, or over
                jump: the step ends now      again: it starts over      abort: the probe ends now

Times are seconds of the run. What is measured next is `probe_ladder`'s, when a step is over `probe_step`'s.
"""

import math

from msgspec.structs import replace

from tuibench.errors import UsageError
from tuibench.metrics.thresholds.absolute import parse_objectives
from tuibench.model.experiments.probe import ProbeEnd, ProbeOrder, ProbeState, ProbeStep, UslFit
from tuibench.session.probe.level_search import (
    SHORTEST_STEP_SECONDS,
    NextLevel,
    ProbeProgress,
    end_of_climb,
    knee_of,
    next_level,
)
from tuibench.session.probe.step import ProbeTick, StepRun


class ProbePlan:
    """One probe. `ceiling` is the highest level, `is_local` is True if the server runs on this host."""

    def __init__(self, order: ProbeOrder, ceiling: float, now: float, *, is_local: bool = True) -> None:
        self.order = order
        self.ceiling = max(ceiling, order.least, 1.0)
        self.steps: list[ProbeStep] = []
        self.end: ProbeEnd | None = None
        self.reason = ""
        self.ended_at = now
        self._objectives = parse_objectives(order.slo)
        self._began_at = now
        self._is_local = is_local
        self._run: StepRun | None = None
        self._next_level: NextLevel | None = next_level(self._progress(now))

    @property
    def next_level(self) -> NextLevel | None:
        """The level to set now; None while one is being measured, and at the end."""
        return self._next_level

    @property
    def is_over(self) -> bool:
        return self.end is not None

    def level_applied(self, now: float) -> None:
        """The level requested by `next_level` is now set."""
        if self._next_level is None or self.is_over:
            return
        level, purpose = self._next_level
        left = max(SHORTEST_STEP_SECONDS, self._progress(now).left_seconds)
        self._run = StepRun(self.order.by, level, purpose, now, min(self.order.step_seconds, left))
        self._next_level = None

    def add_tick(self, tick: ProbeTick, now: float) -> None:
        """Process one sample; afterwards there may be a level to set, or the end."""
        if self._run is None or self.is_over:
            return
        self._run.add_tick(tick)
        if self._run.is_over(now):
            self._finish_step(now)

    def next_step(self, now: float) -> None:
        """End the step with what is known. Raises UsageError if nothing is known."""
        if self._run is None or self.is_over:
            raise UsageError("no step is being measured now")
        if not self._run.known.mean:
            raise UsageError("nothing of this step is measured yet")
        self._finish_step(now)

    def restart_step(self, now: float) -> None:
        """Restarts the step after a disturbance."""
        if self._run is not None:
            old = self._run
            self._run = StepRun(self.order.by, old.level, old.purpose, now, old.most_seconds)

    def is_late(self, now: float) -> bool:
        """True if all of its time is used."""
        return now - self._began_at >= self.order.seconds

    def abort(self, reason: str, now: float) -> None:
        """End the probe with what was measured."""
        if self.is_over:
            return
        if self._run is not None and self._run.is_stable:
            self.steps.append(self._run.finished(now, self._objectives, is_local=self._is_local))
        self._end(ProbeEnd.ABORTED, reason, now)

    def state(self, now: float, fit: UslFit | None = None) -> ProbeState:
        """The state of the probe."""
        run = self._run
        known = run.known if run is not None else None
        bend = knee_of(self._progress(now))
        state = ProbeState(
            order=self.order,
            steps=tuple(self.steps),
            ceiling=self.ceiling,
            elapsed_seconds=(self.ended_at if self.is_over else now) - self._began_at,
            knee=bend.level if bend else None,
            fit=fit,
        )
        if run is None or known is None or self.is_over:
            return state
        return _with_step(state, run, now)

    def progress(self) -> ProbeProgress:
        """All measurements, for the evaluation at the end."""
        return self._progress(self.ended_at)

    def _finish_step(self, now: float) -> None:
        """The step is a finding, unless its time went by before its connections were open: then that is all
        that can be said, and the probe ends.
        """
        if self._run is not None:
            if self._run.is_connecting:
                self._end(ProbeEnd.TIME, self._run.waiting(), now)
                return
            self.steps.append(self._run.finished(now, self._objectives, is_local=self._is_local))
        self._run = None
        progress = self._progress(now)
        self._next_level = next_level(progress)
        if self._next_level is None:
            self._end(end_of_climb(progress) or ProbeEnd.TIME, "", now)

    def _end(self, end: ProbeEnd, reason: str, now: float) -> None:
        self.end, self.reason, self.ended_at = end, reason, now
        self._run, self._next_level = None, None

    def _progress(self, now: float) -> ProbeProgress:
        return ProbeProgress(self.order, self.ceiling, self.steps, now - self._began_at)


def _with_step(state: ProbeState, run: StepRun, now: float) -> ProbeState:
    """The state with the step under way."""
    known = run.known
    return replace(
        state,
        purpose=run.purpose,
        level=run.level,
        step_seconds=now - run.at_seconds,
        tps=known.mean or None,
        half_width=known.half_width if math.isfinite(known.half_width) else None,
        p95_ms=run.p95_ms,
        waiting=run.waiting(),
    )
