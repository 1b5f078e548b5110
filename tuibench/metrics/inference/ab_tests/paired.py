"""Result of an A/B test: the paired difference of B and A, with the drift of the run removed.

During a test, and after an early stop, the result is that of the confidence sequences (`sequential`). A test
of a fixed number of cycles that has reached its planned end has a narrower interval, which is valid only
there:

Windows are adjacent, A B | B A | A B | …, and each is compared with its neighbour only, so that slow changes
(a cache that fills, other work on the host) cancel out. From one window to the next a figure's logarithm
grows by

d = δ·x + γ + noise,    x = 1 from A to B, −1 from B to A, 0 between two windows of the same value

γ is the drift, and least squares gives δ. Neighbours of the same value help twice: they estimate the drift,
and the difference of windows without a change. A window has two neighbours, so their differences are not
independent: with noise from window to window (MA(1), ρ = −½) the residual variance is as uncertain as that of
1.5 times fewer differences, and Student's t is used with the degrees of freedom reduced accordingly. In
simulation the 95 % interval then contains the true value in 95 to 97 of 100 cases, in white noise as in a
random walk.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tuibench.metrics.inference import students_t
from tuibench.metrics.inference.ab_tests import sequential
from tuibench.metrics.inference.scale import Scale
from tuibench.metrics.inference.verdict import Interval
from tuibench.model.experiments.effect import AbTestPair, Comparison, EffectFigure, Verdict

FEWEST_PAIRS = 4
"""With fewer pairs, too few degrees of freedom remain for a useful interval."""

SHARED_WINDOWS = 1.5
STEPS = {"AB": 1, "BA": -1, "AA": 0, "BB": 0}
"""x from one window to the next."""

Transform = Callable[[float], float]


class WindowDifference(NamedTuple):
    """The difference between two adjacent windows, and x of the model above."""

    x: int
    difference: float


class Estimate(NamedTuple):
    """A difference and half the width of its interval."""

    value: float
    margin: float


def compare_pairs(
    pairs: Sequence[AbTestPair], *, tolerance: float = 0.0, primary: EffectFigure = EffectFigure.TPS
) -> tuple[Comparison, ...]:
    """The comparison of every figure that all pairs have, at the planned end; empty with too few pairs."""
    if len(pairs) < FEWEST_PAIRS:
        return ()
    figures = figure_levels(pairs, primary)
    alpha = sequential.ALPHA / max(1, len(figures))
    return tuple(_at_the_end(figure, pairs, alpha, tolerance) for figure in figures)


def compare_so_far(
    pairs: Sequence[AbTestPair], *, tolerance: float = 0.0, primary: EffectFigure = EffectFigure.TPS
) -> tuple[Comparison, ...]:
    """The comparison of every figure that has an interval so far; valid at any time."""
    found = (
        (figure, sequential.progress(figure_pairs(pairs, figure), alpha=alpha, tolerance=tolerance))
        for figure, alpha in figure_levels(pairs, primary).items()
    )
    return tuple(
        figure_comparison(figure, pairs, seen.interval, seen.verdict, tolerance)
        for figure, seen in found
        if math.isfinite(seen.interval.percent.high) and not math.isnan(seen.interval.estimate)
    )


def pairs_needed(
    pairs: Sequence[AbTestPair], *, tolerance: float, primary: EffectFigure = EffectFigure.TPS
) -> int | None:
    """The estimated number of further pairs until a verdict on the primary figure; None while unknown."""
    levels = figure_levels(pairs, primary)
    if primary not in levels:
        return None
    progress = sequential.progress(figure_pairs(pairs, primary), alpha=levels[primary], tolerance=tolerance)
    return progress.pairs_needed


def figure_levels(pairs: Sequence[AbTestPair], primary: EffectFigure) -> dict[EffectFigure, float]:
    """The figures that all pairs have, the primary one first, each with its share of the error rate of
    the whole test.
    """
    figures = [
        figure
        for figure in sorted(EffectFigure, key=lambda figure: figure is not primary)
        if all(figure in pair.a and figure in pair.b for pair in pairs)
    ]
    if not figures:
        return {}
    levels = sequential.levels(figures, primary if primary in figures else figures[0])
    return {figure: levels[figure] for figure in figures}


def figure_pairs(pairs: Sequence[AbTestPair], figure: EffectFigure) -> list[sequential.Pair]:
    return [sequential.Pair(pair.a[figure], pair.b[figure], pair.order == "AB") for pair in pairs]


def window_differences(
    pairs: Sequence[AbTestPair], figure: EffectFigure, level: Transform
) -> list[WindowDifference]:
    """The differences of all neighbours, in time order; an excluded cycle interrupts them."""
    found: list[WindowDifference] = []
    before: tuple[int, str, float] | None = None
    for pair in pairs:
        first, second = (level(side[figure]) for side in _in_order(pair))
        if before is not None and before[0] == pair.cycle - 1:
            found.append(WindowDifference(STEPS[before[1] + pair.order[0]], first - before[2]))
        found.append(WindowDifference(STEPS[pair.order], second - first))
        before = (pair.cycle, pair.order[1], second)
    return found


def without_drift(taken: Sequence[WindowDifference], level: float = 0.05) -> Estimate:
    """δ of the model above."""
    count = len(taken)
    middle = math.fsum(step.x for step in taken) / count
    mean = math.fsum(step.difference for step in taken) / count
    spread = math.fsum((step.x - middle) ** 2 for step in taken)
    value = math.fsum((step.x - middle) * (step.difference - mean) for step in taken) / spread
    residual = math.fsum((step.difference - mean - value * (step.x - middle)) ** 2 for step in taken)
    margin = students_t.two_sided(level, (count - 2) / SHARED_WINDOWS) * math.sqrt(
        residual / (count - 2) / spread
    )
    return Estimate(value, margin)


def _in_order(pair: AbTestPair) -> tuple[dict[EffectFigure, float], dict[EffectFigure, float]]:
    """The first window of a cycle, and the second."""
    return (pair.a, pair.b) if pair.order == "AB" else (pair.b, pair.a)


def _at_the_end(
    figure: EffectFigure, pairs: Sequence[AbTestPair], alpha: float, tolerance: float
) -> Comparison:
    seen = figure_pairs(pairs, figure)
    scale = Scale.of((pair.a for pair in seen), (pair.b for pair in seen))
    found = without_drift(window_differences(pairs, figure, scale.__call__), alpha)
    interval = scale.interval(found.value, found.margin)
    return figure_comparison(figure, pairs, interval, interval.verdict(tolerance), tolerance)


def figure_comparison(
    figure: EffectFigure,
    pairs: Sequence[AbTestPair],
    interval: Interval,
    verdict: Verdict,
    tolerance: float,
) -> Comparison:
    """The comparison of one figure. `before` is the level under A; without a level there is no relative
    difference.
    """
    a, b = [pair.a[figure] for pair in pairs], [pair.b[figure] for pair in pairs]
    level = math.exp(math.fsum(map(math.log, a)) / len(a)) if min(a) > 0 else math.fsum(a) / len(a)
    unit = level or math.fsum(b) / len(b) or 1.0
    percents = [max(-100.0, edge) for edge in interval.percent]
    deltas = [unit * percent / 100 for percent in percents]
    relative = percents if level > 0 else [None, None, None]
    return Comparison(
        figure=figure,
        before=level,
        after=level + deltas[0],
        delta=deltas[0],
        low=deltas[1],
        high=deltas[2],
        percent=relative[0],
        percent_low=relative[1],
        percent_high=relative[2],
        verdict=verdict,
        tolerance_percent=100 * tolerance,
    )
