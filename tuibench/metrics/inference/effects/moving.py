"""Detection of a level that moves by itself: trend, step, sawtooth, wandering.

The measure is a placebo: two windows of the length to be compared are moved over the series, and their
largest difference is the level's own movement (`swing`). The kind of movement is the simple shape that
explains the series best.
"""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from tuibench.model.experiments.effect import MovementKind

STEP_SHARE, TREND_SHARE = 0.6, 0.5
"""Shares of the variation that a step or a straight line must explain to name the movement."""

FEWEST_AT_EDGE = 3
"""The least number of values on either side of a step."""

PERIOD_CORRELATION = 0.3
SHORTEST_PERIOD = 6


class Movement(NamedTuple):
    """`size` is the slope per value of a trend, the height of a step, otherwise the swing, all as differences
    of logarithms; `place` is the first value after a step, the length of a sawtooth's period, or the number
    of values that were too few to know.
    """

    kind: MovementKind
    size: float
    place: int = 0


def swing(values: Sequence[float], window: int, gap: int) -> float:
    """The largest difference of two windows with a gap between them, anywhere in the series; 0 if it is too
    short.
    """
    means = _moving_means(values, window)
    return max(
        (abs(later - earlier) for earlier, later in zip(means, means[window + gap :], strict=False)),
        default=0.0,
    )


def movement(values: Sequence[float], window: int, gap: int) -> Movement:
    """The kind of movement of the series, significant or not."""
    total = _squares(values)
    place, height, explained = best_step(values)
    slope, by_line = _line(values)
    if by_line >= TREND_SHARE * total and by_line >= 0.9 * explained:
        return Movement(MovementKind.TREND, slope)
    has_swing = len(values) >= 2 * window + gap
    if has_swing and (period := _period(values)) is not None:
        return Movement(MovementKind.SAWTOOTH, swing(values, window, gap), period)
    if explained >= STEP_SHARE * total:
        return Movement(MovementKind.STEP, height, place)
    if by_line >= TREND_SHARE * total:
        return Movement(MovementKind.TREND, slope)
    if not has_swing:
        return Movement(MovementKind.UNKNOWN, 0.0, len(values))
    return Movement(MovementKind.WANDERING, swing(values, window, gap))


def best_step(values: Sequence[float], fewest: int = FEWEST_AT_EDGE) -> tuple[int, float, float]:
    """The best single step: its place, its height, and the share of the sum of squares that it explains;
    at least `fewest` values are on either side.
    """
    count, whole = len(values), math.fsum(values)
    best, left = (fewest, 0.0, -1.0), 0.0
    for place, value in enumerate(values[:-1], 1):
        left += value
        if fewest <= place <= count - fewest:
            height = (whole - left) / (count - place) - left / place
            explained = height * height * place * (count - place) / count
            if explained > best[2]:
                best = (place, height, explained)
    return best


def _moving_means(values: Sequence[float], window: int) -> list[float]:
    sums = [0.0, *accumulate(values)]
    return [(end - start) / window for start, end in zip(sums, sums[window:], strict=False)]


def _squares(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


def _line(values: Sequence[float]) -> tuple[float, float]:
    """The slope of the least-squares line, and the share of the sum of squares that it explains."""
    count, middle = len(values), (len(values) - 1) / 2
    spread = (count**3 - count) / 12
    slope = (
        math.fsum((place - middle) * value for place, value in enumerate(values)) / spread if spread else 0.0
    )
    return slope, slope * slope * spread


def autocorrelation(values: Sequence[float], lag: int) -> float:
    """That of the pairs at this lag; 0 for constant values."""
    mean = math.fsum(values) / len(values)
    off = [value - mean for value in values]
    squares = math.fsum(value * value for value in off) / len(off)
    pairs = list(zip(off, off[lag:], strict=False))
    return math.fsum(a * b for a, b in pairs) / len(pairs) / squares if pairs and squares else 0.0


def _period(values: Sequence[float]) -> int | None:
    """The lag of the largest autocorrelation after a negative one at a shorter lag."""
    mean = math.fsum(values) / len(values)
    off = [value - mean for value in values]
    squares = math.fsum(value * value for value in off)
    if squares == 0:
        return None
    lags = range(1, len(values) * 2 // 3)
    alike = [math.fsum(a * b for a, b in zip(off, off[lag:], strict=False)) / squares for lag in lags]
    below = next((lag for lag, value in zip(lags, alike, strict=True) if value < 0), None)
    later = [
        (value, lag) for lag, value in zip(lags, alike, strict=True) if below is not None and lag > below
    ]
    best, lag = max(later, default=(0.0, 0))
    return lag if lag >= SHORTEST_PERIOD and best >= PERIOD_CORRELATION * (1 - lag / len(values)) else None
