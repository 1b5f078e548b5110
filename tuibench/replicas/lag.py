"""Pauses the load while a replica lags too far behind (`--max-lag`).

The load is paused when a replica's lag exceeds the limit, or a replica stops replicating, and resumed when
all are below half of the limit. A replica that cannot be read has no influence: its figures are a gap.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tuibench.errors import TuibenchError
from tuibench.model.command import Pause, Resume
from tuibench.model.event import EventKind
from tuibench.model.sample import ReplicaSample
from tuibench.session.laboratory import Submit
from tuibench.session.lifecycle import StartTask
from tuibench.units import decimal

RESUME_SHARE = 0.5

Emit = Callable[[EventKind, str], object]


class LagDecision(NamedTuple):
    """Whether to pause or to resume, and the reason."""

    pause: bool
    text: str


class LagLimit:
    """The decisions, without I/O. `is_held` is True from a pause to the next resume."""

    def __init__(self, limit_seconds: float) -> None:
        self._limit_seconds = limit_seconds
        self.is_held = False

    def check(self, replicas: Sequence[ReplicaSample]) -> LagDecision | None:
        """Process one sample; None if nothing is to be done."""
        known = [each for each in replicas if not each.note]
        late = next((each for each in known if self._is_late(each, self._limit_seconds)), None)
        if not self.is_held and late is not None:
            self.is_held = True
            limit = f"--max-lag {decimal(self._limit_seconds, 1)} s"
            return LagDecision(True, f"load paused: replica {late.name} {_lag_text(late)} ({limit})")
        resume_seconds = self._limit_seconds * RESUME_SHARE
        if self.is_held and known and not any(self._is_late(each, resume_seconds) for each in known):
            self.is_held = False
            return LagDecision(False, "load resumed: the replicas have caught up")
        return None

    @staticmethod
    def _is_late(replica: ReplicaSample, limit_seconds: float) -> bool:
        if not replica.is_running:
            return True
        return replica.lag_seconds is not None and replica.lag_seconds > limit_seconds


class LagGuard:
    """Executes the decisions with an operator's commands."""

    def __init__(self, limit_seconds: float, submit: Submit, emit: Emit, start_task: StartTask) -> None:
        self._limit = LagLimit(limit_seconds) if limit_seconds else None
        self._submit = submit
        self._emit = emit
        self._start_task = start_task

    def tick(self, replicas: Sequence[ReplicaSample]) -> None:
        """Process one sample of the measurement."""
        decision = self._limit.check(replicas) if self._limit is not None else None
        if decision is not None:
            self._start_task(self._carry_out(decision), "max lag")

    async def _carry_out(self, decision: LagDecision) -> None:
        self._emit(EventKind.WARNING, decision.text)
        try:
            await self._submit(Pause() if decision.pause else Resume())
        except TuibenchError as error:
            self._emit(EventKind.WARNING, f"--max-lag: {error.message}")


def _lag_text(replica: ReplicaSample) -> str:
    if replica.lag_seconds is None or not replica.is_running:
        return f"does not replicate: {replica.state}"
    return f"is {decimal(replica.lag_seconds, 1)} s behind"
