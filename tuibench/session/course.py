"""Where a plan stands: seconds of the run in, moves out. A state machine without a clock and without I/O.

    waiting ──begin──> running ──> over
                        │   ^
             hold, pause│   │resume, go_on
                        v   │
                     standing still

While it stands still, held by the operator or with the load paused, the plan's own time stands still, too: it
goes on from where it stopped, and no stage is cut short.
"""

from collections.abc import Iterable
from itertools import accumulate

from tuibench.model.progress import PlanPhase, PlanState
from tuibench.model.schedule import Quantity, Ramp, Schedule
from tuibench.session.schedule import Move, level_words, moves

ROUNDING_SECONDS = 1e-6
"""Seconds of the run are floating-point numbers; a move is due when it is no farther off than this."""


class Course:
    """One plan on its way. All times are seconds of the run."""

    def __init__(self, stages: Schedule) -> None:
        self.stages = stages
        self.held = ""
        self._moves = moves(stages)
        self._ends = list(accumulate(stage.seconds for stage in stages))
        self._is_paused = False
        self._begun_at: float | None = None
        self._still_at: float | None = None
        self._made = 0
        self._takes_up = False

    def begin(self, now: float) -> None:
        """The plan's second 0 is now."""
        self._begun_at = now
        if self._is_still:
            self._still_at = 0.0

    @property
    def is_begun(self) -> bool:
        return self._begun_at is not None

    def hold(self, now: float, why: str) -> None:
        """It stands still until `resume`."""
        self._stop(now)
        self.held = why

    def resume(self, now: float) -> None:
        """It goes on from where it stopped, and takes its levels up again."""
        self.held = ""
        self._takes_up = True
        self._go(now)

    def pause(self, now: float) -> None:
        """The load is paused: the plan waits with it."""
        self._stop(now)
        self._is_paused = True

    def go_on(self, now: float) -> None:
        """The load goes on."""
        self._is_paused = False
        self._go(now)

    def elapsed(self, now: float) -> float:
        """The second of the plan, from 0."""
        if self._still_at is not None:
            return self._still_at
        return max(0.0, now - self._begun_at) if self._begun_at is not None else 0.0

    def is_over(self, now: float) -> bool:
        return self.elapsed(now) >= self._ends[-1] - ROUNDING_SECONDS

    def is_about(self, quantity: Quantity) -> bool:
        return any(stage.quantity is quantity for stage in self.stages)

    def due(self, now: float) -> list[Move]:
        """The moves to be made now. Of several for one quantity it is the newest."""
        if self._is_still or self._begun_at is None or now < self._begun_at:
            return []
        elapsed, found = self.elapsed(now) + ROUNDING_SECONDS, []
        if self._takes_up:
            found = [_taken_up(move) for move in _newest(self._moves[: self._made])]
        self._takes_up = False
        while self._made < len(self._moves) and self._moves[self._made].at <= elapsed:
            found.append(self._moves[self._made])
            self._made += 1
        return _newest(found)

    def next_due(self, now: float) -> float | None:
        """The second of the run at which something happens next: a move, or the end. None for never."""
        if self._is_still or self._begun_at is None or self.is_over(now):
            return None
        return self._begun_at + (
            self._moves[self._made].at if self._made < len(self._moves) else self._ends[-1]
        )

    def state(self, now: float) -> PlanState:
        """How far it has come."""
        stage = self._moves[max(0, self._made - 1)].stage
        following, at = self._following(stage)
        left = max(0.0, at - self.elapsed(now))
        phase = self._phase(now)
        return PlanState(
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
        """The next level worth telling, and at which second of the plan it comes. A ramp leads to its end."""
        stage = self.stages[number]
        if isinstance(stage, Ramp) and not stage.doubling:
            return level_words(stage.quantity, stage.last), self._ends[number]
        for move in self._moves[max(1, self._made) :]:
            if move.text:
                return level_words(move.quantity, move.level), move.at
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


def _taken_up(move: Move) -> Move:
    return move._replace(text=f"plan goes on with {level_words(move.quantity, move.level)}")


def _newest(found: Iterable[Move]) -> list[Move]:
    """The last move of each quantity, with the last text that there was on the way to it."""
    newest: dict[Quantity, Move] = {}
    for move in found:
        before = newest.get(move.quantity)
        text = move.text or (before.text if before else "")
        newest[move.quantity] = move._replace(text=text)
    return list(newest.values())
