"""Which level a probe measures next, and when its way up has ended. It all follows from the steps so far.

    scale (with a rate only) ── up, each level twice the one before ── refine, between two levels ── back

The way up goes one doubling beyond the knee, to be sure of it. What is refined is where the objectives are
lost, then the knee, until two levels lie less than a quarter apart. Back goes to a level of the way up.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from tuibench.metrics.knee import LOG_GAIN, Gain, Knee, Point, curve, gain, knee
from tuibench.model.probe import ProbeEnd, ProbeOrder, ProbeStep, Purpose
from tuibench.model.schedule import Quantity

FINE = {Quantity.THREADS: 1.25, Quantity.RATE: 1.12}
"""Two neighbouring levels that are no farther apart need nothing in between."""

LOSS = math.log(0.8)
COLLAPSE_SHARE, COLLAPSE_ERRORS = 0.5, 50.0
"""Less than this part of the best throughput, or more than this many percent errors."""

KEPT_UP = 0.95
MOST_BACKLOG_SECONDS = 0.5
FIRST_RATE_SHARE = 0.125
SHORTEST_STEP_SECONDS = 3.0
RISES_WITH_LOAD = ("tps", "qps")
"""Figures that an objective may miss for want of load."""


class Move(NamedTuple):
    """The next level, and why."""

    level: float
    purpose: Purpose


class Gone(NamedTuple):
    """What a probe has behind it: its steps, and how long it took so far. `ceiling` bounds its levels."""

    order: ProbeOrder
    ceiling: float
    steps: Sequence[ProbeStep]
    elapsed_seconds: float

    @property
    def left_seconds(self) -> float:
        return self.order.seconds - self.elapsed_seconds

    @property
    def usual_seconds(self) -> float:
        """How long a step takes."""
        spent = [step.seconds + step.settling_seconds for step in self.steps]
        return max(SHORTEST_STEP_SECONDS, math.fsum(spent) / len(spent)) if spent else SHORTEST_STEP_SECONDS

    def of(self, *purposes: Purpose) -> list[ProbeStep]:
        return [step for step in self.steps if step.purpose in purposes]

    @property
    def measured(self) -> list[ProbeStep]:
        """The steps of the way up and between them, by level."""
        return sorted(self.of(Purpose.UP, Purpose.REFINE), key=lambda step: step.level)


def next_move(gone: Gone) -> Move | None:
    """The next level; None when the probe is over."""
    if not gone.steps:
        return first_move(gone)
    if gone.left_seconds < SHORTEST_STEP_SECONDS:
        return None
    if end_of_climb(gone) is None:
        return _higher(gone)
    return _between(gone) or _back(gone)


def first_move(gone: Gone) -> Move:
    if gone.order.by is Quantity.RATE and not gone.order.least:
        return Move(0.0, Purpose.SCALE)
    return Move(max(1.0, gone.order.least), Purpose.UP)


def end_of_climb(gone: Gone) -> ProbeEnd | None:
    """Why the way up has ended; None while it goes on."""
    ups = gone.of(Purpose.UP)
    if not ups:
        return None
    last = ups[-1]
    if last.missed and not _wants_load(gone):
        return ProbeEnd.SLO
    if gone.order.by is Quantity.THREADS and is_refused(last):
        return ProbeEnd.CONNECTIONS
    if is_collapsed(last, ups):
        return ProbeEnd.COLLAPSE
    if is_saturated(gone.order.by, ups):
        return ProbeEnd.KNEE
    return ProbeEnd.LIMIT if last.level >= gone.ceiling else None


def is_collapsed(step: ProbeStep, steps: Sequence[ProbeStep]) -> bool:
    """More load has broken it."""
    best = max(each.tps for each in steps)
    return step.tps < COLLAPSE_SHARE * best or step.errors_percent > COLLAPSE_ERRORS


def is_saturated(by: Quantity, ups: Sequence[ProbeStep]) -> bool:
    """Whether more gains no more, beyond the noise; of a rate, whether it is not kept up with."""
    if by is Quantity.RATE:
        return not keeps_up(ups[-1])
    gains = [_per_doubling(before, after) for before, after in pairwise(ups)]
    if gains and gains[-1].is_surely_loss and gains[-1].value < LOSS:
        return True
    if len(gains) < 2 or not (gains[-1].is_small and gains[-2].is_small):
        return False
    together = gain(point_of(ups[-3]), point_of(ups[-1]))
    surely = together.value + together.margin < 2 * LOG_GAIN or gains[-1].is_surely_small
    return surely or (len(gains) > 2 and gains[-3].is_small)


def keeps_up(step: ProbeStep) -> bool:
    """Whether the server did all that was due, as far as chance lets us see."""
    short = step.tps < (KEPT_UP - (step.half_width or 0.0) / 2) * step.level
    return not short and step.evidence.backlog <= max(5.0, MOST_BACKLOG_SECONDS * step.level)


def knee_of(gone: Gone) -> Knee | None:
    """Where the measured curve bends; with a rate, the highest that was kept up with."""
    steps = gone.measured
    if gone.order.by is Quantity.THREADS:
        return knee(curve(points_of(steps)))
    failed = min((step.level for step in steps if not keeps_up(step)), default=None)
    kept = [step.level for step in steps if failed is None or step.level < failed]
    return Knee(kept[-1], kept[-1], failed) if failed is not None and kept else None


def points_of(steps: Sequence[ProbeStep]) -> list[Point]:
    """The steps as a curve's points, without those of a load that never was."""
    return [point_of(step) for step in steps if step.tps > 0 and not is_refused(step)]


def is_refused(step: ProbeStep) -> bool:
    """Not all the threads that were asked for took part."""
    return 0 < step.evidence.connections < step.level


def point_of(step: ProbeStep) -> Point:
    return Point(step.level, step.tps, math.inf if step.half_width is None else step.half_width)


def objective_edge(gone: Gone) -> tuple[ProbeStep | None, ProbeStep | None]:
    """The highest level that keeps the objectives, and the lowest above it that does not."""
    most: ProbeStep | None = None
    for step in gone.measured:
        if not step.missed:
            most = step
        elif most is not None or not _wants_load(gone):
            return most, step
    return most, None


def _wants_load(gone: Gone) -> bool:
    """No level has kept the objectives yet, and that may be because there is too little load."""
    rises = any(text.strip().lower().startswith(RISES_WITH_LOAD) for text in gone.order.slo)
    return rises and all(step.missed for step in gone.measured)


def _per_doubling(before: ProbeStep, after: ProbeStep) -> Gain:
    """What a doubling would gain; the last step of a way up may be a shorter one."""
    found = gain(point_of(before), point_of(after))
    doublings = math.log2(after.level / before.level)
    return Gain(found.value / doublings, found.margin / doublings)


def _higher(gone: Gone) -> Move:
    ups = gone.of(Purpose.UP)
    if ups:
        return Move(min(_rounded(gone, ups[-1].level * 2), gone.ceiling), Purpose.UP)
    scale = gone.of(Purpose.SCALE)[-1].tps
    return Move(min(max(1.0, _rounded(gone, scale * FIRST_RATE_SHARE)), gone.ceiling), Purpose.UP)


def _between(gone: Gone) -> Move | None:
    """A level between two that are too far apart, if there is time for it and for the way back."""
    if gone.left_seconds < 2 * gone.usual_seconds:
        return None
    for low, high in _brackets(gone):
        middle = _rounded(gone, math.sqrt(low * high))
        if high / low > FINE[gone.order.by] and low < middle < high:
            return Move(middle, Purpose.REFINE)
    return None


def _brackets(gone: Gone) -> list[tuple[float, float]]:
    """Neighbouring levels between which something is lost: the objectives, then the gain."""
    found: list[tuple[float, float]] = []
    most, missed = objective_edge(gone)
    if most is not None and missed is not None:
        found.append((most.level, missed.level))
    bend = knee_of(gone)
    if bend is None:
        return found
    levels = [step.level for step in gone.measured]
    below = max((level for level in levels if level <= bend.level * (1 + 1e-9)), default=None)
    above = min((level for level in levels if level > bend.level * (1 + 1e-9)), default=None)
    return [*found, (below, above)] if below is not None and above is not None else found


def _back(gone: Gone) -> Move | None:
    """To the level of the way up at the knee or just below it, then to a quarter of that."""
    done = gone.of(Purpose.BACK)
    if len(done) >= 2 or gone.left_seconds < gone.usual_seconds * (0.6 if not done else 1.2):
        return None
    ups = [step.level for step in gone.of(Purpose.UP)]
    bend = knee_of(gone)
    top = bend.level * (1 + 1e-9) if bend else ups[-1] / 2
    below = [level for level in ups[:-1] if level <= (done[-1].level / 4 if done else top)]
    return Move(below[-1], Purpose.BACK) if below else None


def _rounded(gone: Gone, level: float) -> float:
    """Whole threads; of a rate, three digits."""
    if gone.order.by is Quantity.THREADS:
        return float(round(level))
    return float(f"{level:.3g}")
