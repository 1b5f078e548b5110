"""A plan as a list of moves: at which second of the plan which level begins. Pure, no clock and no I/O."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tuibench.model.duration import duration_text
from tuibench.model.schedule import Quantity, Ramp, Stage, Step

SHORTEST_LEVEL_SECONDS = 0.25
MOST_LEVELS = 3600
"""The levels of an even ramp follow each other no faster, and are no more; rather they are farther apart."""


class Move(NamedTuple):
    """From second `at` of the plan on, this level holds.

    `text` says what begins here, for the list of events; it is empty on the way of an even ramp.
    """

    at: float
    quantity: Quantity
    level: float
    stage: int
    text: str = ""
    is_ramp: bool = False


def moves(stages: Sequence[Stage]) -> list[Move]:
    """All moves of a plan, in order."""
    found: list[Move] = []
    start = 0.0
    for number, stage in enumerate(stages):
        found += _moves(stage, number, start, f"plan {number + 1}/{len(stages)}")
        start += stage.seconds
    return found


def level_words(quantity: Quantity, level: float) -> str:
    """A level as it is said: 16 threads, 400/s, no rate."""
    if quantity is Quantity.THREADS:
        return f"{level:,.0f} {'thread' if level == 1 else 'threads'}"
    return f"{level:,.6g}/s" if level else "no rate"


def _moves(stage: Stage, number: int, start: float, label: str) -> Iterator[Move]:
    match stage:
        case Step():
            words = f"{level_words(stage.quantity, stage.level)} for {duration_text(stage.seconds)}"
            yield Move(start, stage.quantity, stage.level, number, f"{label}: {words}")
        case Ramp():
            levels = _doubled(stage) if stage.doubling else _even(stage)
            each = stage.seconds / len(levels)
            for place, level in enumerate(levels):
                text = _ramp_words(stage, level, each, label, is_first=place == 0)
                yield Move(start + place * each, stage.quantity, level, number, text, is_ramp=place == 0)


def _ramp_words(ramp: Ramp, level: float, each_seconds: float, label: str, *, is_first: bool) -> str:
    """An even ramp is told once, at its start; a doubling one at every level."""
    if ramp.doubling:
        return f"{label}: {level_words(ramp.quantity, level)} for {each_seconds:.3g}s"
    first, last = level_words(ramp.quantity, ramp.first), level_words(ramp.quantity, ramp.last)
    return f"{label}: from {first} to {last} in {duration_text(ramp.seconds)}" if is_first else ""


def _even(ramp: Ramp) -> list[float]:
    """Levels that are equally far apart, both ends included."""
    span = ramp.last - ramp.first
    if not span:
        return [ramp.first]
    steps = min(MOST_LEVELS, max(2, int(ramp.seconds / SHORTEST_LEVEL_SECONDS)))
    if _is_whole(ramp):
        steps = min(steps, int(abs(span)) + 1)
    levels = [ramp.first + span * step / (steps - 1) for step in range(steps - 1)]
    return [*(map(round, levels) if _is_whole(ramp) else levels), ramp.last]


def _doubled(ramp: Ramp) -> list[float]:
    """Each level twice (or half) the one before; the last may be less far."""
    levels = [ramp.first]
    while levels[-1] < ramp.last:
        levels.append(min(levels[-1] * 2, ramp.last))
    while levels[-1] > ramp.last:
        levels.append(max(float(levels[-1] // 2 if _is_whole(ramp) else levels[-1] / 2), ramp.last))
    return levels


def _is_whole(ramp: Ramp) -> bool:
    return ramp.quantity is Quantity.THREADS
