"""A load planned in stages: levels that are kept for a while, and ramps from one level to another.

A stage is about the threads or about the rate; what it is not about stays as it is.
"""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from tuibench.errors import UsageError
from tuibench.model.duration import duration_text
from tuibench.model.limits import MAX_RATE, MAX_THREADS

MAX_STAGES = 100
SHORTEST_SECONDS, LONGEST_SECONDS = 0.1, 1e7
EXAMPLE = "such as 8:30s,16:30s,64:1m or 1..128/60s or rate 200:30s,rate 200..2000/5m"


class Quantity(StrEnum):
    """What a stage steers."""

    THREADS = "threads"
    RATE = "rate"


class Step(msgspec.Struct, frozen=True, kw_only=True, tag="step"):
    """A level kept for some seconds: so many threads, or transactions a second (0: as many as can be)."""

    quantity: Quantity = Quantity.THREADS
    level: float
    seconds: float

    @property
    def levels(self) -> tuple[float, ...]:
        return (self.level,)


class Ramp(msgspec.Struct, frozen=True, kw_only=True, tag="ramp"):
    """From one level to another in some seconds, both included: evenly, or each level twice the one before.

    Every level takes an equal part of the time: 1 to 4 threads in 40 s are four steps of 10 s.
    """

    quantity: Quantity = Quantity.THREADS
    first: float
    last: float
    seconds: float
    doubling: bool = False

    @property
    def levels(self) -> tuple[float, ...]:
        """The two ends."""
        return (self.first, self.last)


Stage = Step | Ramp
Schedule = tuple[Stage, ...]


def checked_schedule(stages: Sequence[Stage]) -> Schedule:
    """The stages themselves. Raises UsageError for one that cannot be, or for too many."""
    if not 1 <= len(stages) <= MAX_STAGES:
        raise UsageError(f"a plan has between 1 and {MAX_STAGES:,} stages, not {len(stages):,}", EXAMPLE)
    for number, stage in enumerate(stages, 1):
        if reason := fault(stage):
            raise UsageError(f"stage {number} of the plan: {reason}", EXAMPLE)
    return tuple(stages)


def fault(stage: Stage) -> str:
    """Why a stage cannot be; empty if it can."""
    if not SHORTEST_SECONDS <= stage.seconds <= LONGEST_SECONDS:
        return f"it takes between {duration_text(SHORTEST_SECONDS)} and {duration_text(LONGEST_SECONDS)}"
    if stage.quantity is Quantity.THREADS:
        if not all(1 <= level <= MAX_THREADS and level == int(level) for level in stage.levels):
            return f"threads are whole numbers from 1 to {MAX_THREADS:,}"
    elif not all(0 <= level <= MAX_RATE for level in stage.levels):
        return f"a rate is between 0 and {MAX_RATE:,} a second"
    elif isinstance(stage, Ramp) and not all(stage.levels):
        return "a ramp of rates has both ends above 0"
    return ""


def total_seconds(stages: Sequence[Stage]) -> float:
    """How long the whole plan takes."""
    return sum(stage.seconds for stage in stages)


def first_level(stages: Sequence[Stage], quantity: Quantity) -> float | None:
    """Where a quantity begins; None if the plan is not about it."""
    return next((stage.levels[0] for stage in stages if stage.quantity is quantity), None)


def most_threads(stages: Sequence[Stage]) -> int:
    """The most threads that the plan will have; 0 if it is not about threads."""
    return max((int(max(s.levels)) for s in stages if s.quantity is Quantity.THREADS), default=0)
