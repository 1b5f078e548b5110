"""The paired result of a trial: what B does against A, with the drift of the run removed.

Windows lie side by side, A B | B A | A B | …, and each is compared with its neighbour only, so that what is
slow (a cache that fills, other work on the host) falls out. From one window to the next a figure's logarithm
grows by

    d = δ·x + γ + noise,    x = 1 from A to B, −1 from B to A, 0 between two windows of the same value

γ is the drift, and least squares gives δ. Neighbours of the same value help twice: they tell the drift, and
how much windows differ when nothing was changed. A window has two neighbours, so their differences are not
independent: with noise from window to window (MA(1), ρ = −½) the residual variance is as uncertain as that of
1.5 times fewer differences, and Student's t is taken with so many degrees of freedom fewer. In simulation the
95 % interval then holds the truth in 95 to 97 of 100 cases, in white noise as in a random walk.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tuibench.metrics.student import t_95
from tuibench.model.effect import Comparison, Figure
from tuibench.model.trial import TrialPair

FEWEST_PAIRS = 4
"""With fewer, what is left for judging the noise gives an interval that says nothing."""

SHARED_WINDOWS = 1.5
SIGNS = {"AB": 1, "BA": -1}

Level = Callable[[float], float]


class Step(NamedTuple):
    """From one window to the next: x of the model above, and the difference."""

    x: int
    difference: float


class Estimate(NamedTuple):
    """A difference and half the width of its 95 % interval."""

    value: float
    margin: float


def compare_pairs(pairs: Sequence[TrialPair]) -> tuple[Comparison, ...]:
    """Every figure that all pairs have; none if there are too few pairs for an interval."""
    if len(pairs) < FEWEST_PAIRS:
        return ()
    figures = [figure for figure in Figure if all(figure in pair.a and figure in pair.b for pair in pairs)]
    return tuple(_comparison(figure, pairs) for figure in figures)


def steps(pairs: Sequence[TrialPair], figure: Figure, level: Level) -> list[Step]:
    """All differences of neighbours, in the order of time; a cycle that was left out interrupts them."""
    found: list[Step] = []
    before: tuple[int, float] | None = None
    for pair in pairs:
        first, second = (level(side[figure]) for side in _in_order(pair))
        if before is not None and before[0] == pair.cycle - 1:
            found.append(Step(0, first - before[1]))
        found.append(Step(SIGNS[pair.order], second - first))
        before = (pair.cycle, second)
    return found


def without_drift(taken: Sequence[Step]) -> Estimate:
    """δ of the model above."""
    count = len(taken)
    middle = math.fsum(step.x for step in taken) / count
    mean = math.fsum(step.difference for step in taken) / count
    spread = math.fsum((step.x - middle) ** 2 for step in taken)
    value = math.fsum((step.x - middle) * (step.difference - mean) for step in taken) / spread
    residual = math.fsum((step.difference - mean - value * (step.x - middle)) ** 2 for step in taken)
    margin = t_95((count - 2) / SHARED_WINDOWS) * math.sqrt(residual / (count - 2) / spread)
    return Estimate(value, margin)


def _in_order(pair: TrialPair) -> tuple[dict[Figure, float], dict[Figure, float]]:
    """The first window of a cycle, and the second."""
    return (pair.a, pair.b) if pair.order == "AB" else (pair.b, pair.a)


def _comparison(figure: Figure, pairs: Sequence[TrialPair]) -> Comparison:
    a = [pair.a[figure] for pair in pairs]
    if min(*a, *(pair.b[figure] for pair in pairs)) > 0:
        level = math.exp(math.fsum(map(math.log, a)) / len(a))
        found = without_drift(steps(pairs, figure, math.log))
        edges = (found.value, found.value - found.margin, found.value + found.margin)
        return _told(figure, level, *(level * math.expm1(edge) for edge in edges))
    level = math.fsum(a) / len(a)
    value, margin = without_drift(steps(pairs, figure, float))
    return _told(figure, level, value, value - margin, value + margin)


def _told(figure: Figure, level: float, delta: float, low: float, high: float) -> Comparison:
    """`level` is the figure under A; there is no relative difference to nothing."""
    percents = [100 * one / level if level > 0 else None for one in (delta, low, high)]
    return Comparison(
        figure=figure,
        before=level,
        after=level + delta,
        delta=delta,
        low=low,
        high=high,
        percent=percents[0],
        percent_low=percents[1],
        percent_high=percents[2],
        differs=not low <= 0 <= high,
    )
