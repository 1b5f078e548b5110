"""Scaling with threads: the knee of a curve, the Universal Scalability Law.

Knee of a throughput curve: the level from which doubling gains less than 10 %.

Between measured levels the curve is linear in logarithms, so that a proportional stretch is exact and
the gain of doubling is a difference of two heights. All gains here are natural logarithms of a ratio.

Gunther's Universal Scalability Law, fitted to measured levels.

X(N) = λ·N / (1 + σ·(N−1) + κ·N·(N−1))

σ is the share of the work that queues (contention), κ the cost of keeping shared data consistent (coherency);
N_max = √((1−σ)/κ) has the highest throughput (Gunther, Guerrilla Capacity Planning, 2007). The fit weights
relative errors, within 0 ≤ σ < 1 and κ ≥ 0. A fit that the measurements do not support is rejected.

scipy is imported only when a curve is fitted.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from tuibench.errors import RunError

GAIN = 0.10
LOG_GAIN = math.log1p(GAIN)
SMALLEST_WIDTH = 0.002
"""The least half-width of a level, whatever its ticks give."""


class ThroughputPoint(NamedTuple):
    """Throughput at a level; `half_width` is that of its 95 % interval as a share of it."""

    level: float
    tps: float
    half_width: float = 0.0


class Knee(NamedTuple):
    """The level of the knee, and the levels between which it lies given the noise."""

    level: float
    low: float
    high: float


class Gain(NamedTuple):
    """The gain from one level to another, and half the width of its 95 % interval."""

    value: float
    margin: float

    @property
    def is_small(self) -> bool:
        """True if the estimate is below the threshold."""
        return self.value < LOG_GAIN

    @property
    def is_surely_small(self) -> bool:
        """True if it is below the threshold beyond the noise."""
        return self.value + self.margin < LOG_GAIN

    @property
    def is_surely_loss(self) -> bool:
        return self.value + self.margin < 0


def throughput_curve(points: Iterable[ThroughputPoint]) -> list[ThroughputPoint]:
    """The points by level, one each: repeated measurements are averaged, weighted by their precision."""
    ordered = sorted((point for point in points if point.tps > 0), key=lambda point: point.level)
    return [_weighted_mean(list(same)) for _, same in groupby(ordered, key=lambda point: point.level)]


def throughput_gain(before: ThroughputPoint, after: ThroughputPoint) -> Gain:
    """The gain from one measured level to another."""
    if before.tps <= 0 or after.tps <= 0:
        return Gain(-math.inf if after.tps <= 0 else math.inf, 0.0)
    margin = math.hypot(before.half_width, after.half_width)
    return Gain(math.log(after.tps / before.tps), margin)


def find_knee(points: Sequence[ThroughputPoint]) -> Knee | None:
    """The knee of a curve; None while doubling still gains at its end, or if the curve is too short.

    From its level on no doubling within the curve gains enough: a small gain below a larger one is no knee.
    """
    level = _crossing(points, LOG_GAIN)
    if level is None:
        return None
    width = math.hypot(_width_near(points, level), _width_near(points, 2 * level))
    low, high = _crossing(points, LOG_GAIN + width), _crossing(points, LOG_GAIN - width)
    lowest, highest = points[0].level, points[-1].level
    return Knee(level, low if low is not None else lowest, high if high is not None else highest)


def _crossing(points: Sequence[ThroughputPoint], wanted: float) -> float | None:
    """The level from which every doubling gains less than the threshold."""
    places = _places(points)
    if len(places) < 2:
        return None
    gains = [_doubling(points, place) for place in places]
    if gains[-1] >= wanted:
        return None
    for number in range(len(places) - 2, -1, -1):
        if gains[number] >= wanted:
            share = (gains[number] - wanted) / (gains[number] - gains[number + 1])
            return math.exp(places[number] + share * (places[number + 1] - places[number]))
    return math.exp(places[0])


def _places(points: Sequence[ThroughputPoint]) -> list[float]:
    """Logarithms of the levels at which the slope of the gain may change, and whose double is within the
    curve.
    """
    if not points:
        return []
    first, last = math.log(points[0].level), math.log(points[-1].level) - math.log(2)
    logs = [math.log(point.level) for point in points]
    return sorted({place for log in logs for place in (log, log - math.log(2)) if first <= place <= last})


def _doubling(points: Sequence[ThroughputPoint], place: float) -> float:
    before, after = _height(points, place), _height(points, place + math.log(2))
    return 0.0 if before is None or after is None else after - before


def _height(points: Sequence[ThroughputPoint], place: float) -> float | None:
    """The logarithm of the throughput at the logarithm of a level."""
    slack = 1e-9
    for left, right in pairwise(points):
        start, end = math.log(left.level), math.log(right.level)
        if start - slack <= place <= end + slack:
            share = (place - start) / (end - start)
            return math.log(left.tps) + share * math.log(right.tps / left.tps)
    return None


def _width_near(points: Sequence[ThroughputPoint], level: float) -> float:
    """The precision of the curve around a level: that of its nearest point."""
    nearest = min(points, key=lambda point: abs(math.log(point.level / level)))
    return max(nearest.half_width, SMALLEST_WIDTH)


def _weighted_mean(same: Sequence[ThroughputPoint]) -> ThroughputPoint:
    widths = [max(point.half_width, SMALLEST_WIDTH) for point in same]
    weights = [1 / width**2 for width in widths]
    if not math.isfinite(math.fsum(widths)):
        return min(same, key=lambda point: point.half_width)
    tps = math.fsum(w * point.tps for w, point in zip(weights, same, strict=True)) / math.fsum(weights)
    return ThroughputPoint(same[0].level, tps, 1 / math.sqrt(math.fsum(weights)))


FEWEST_LEVELS = 5
LEAST_R2 = 0.9
LARGEST_MISS = 0.15
"""The largest acceptable error at a measured level."""

FARTHEST_PEAK = 4.0
"""A peak beyond this multiple of the highest measured level is a guess, and not reported."""

CURVE_POINTS = 40
NO_LIMIT = 0.03
"""A curve that is nowhere farther below a straight line has no visible limit."""

NEGLIGIBLE = 1e-9
REMEDY = "pip install '.[analysis]' in the clone of tuibench"


class FitRefusedError(RunError):
    """There is no acceptable curve; the message is the reason."""


class UslCurve(NamedTuple):
    """A fitted curve. `r2` is the share of the variance that it explains."""

    lam: float
    sigma: float
    kappa: float
    r2: float

    def tps(self, level: float) -> float:
        return usl_tps(level, self.lam, self.sigma, self.kappa)

    @property
    def peak_level(self) -> float | None:
        """The level with the highest throughput; None if the curve has no maximum."""
        return math.sqrt((1 - self.sigma) / self.kappa) if self.kappa > NEGLIGIBLE else None


def usl_tps(level: float, lam: float, sigma: float, kappa: float) -> float:
    """The throughput by the law."""
    return lam * level / (1 + sigma * (level - 1) + kappa * level * (level - 1))


def fit_usl_curve(points: Sequence[ThroughputPoint]) -> UslCurve:
    """The curve through points of different levels. Raises FitRefusedError if there is none."""
    if len(points) < FEWEST_LEVELS:
        raise FitRefusedError(f"a fit needs {FEWEST_LEVELS} levels, {len(points)} were measured")
    found = _least_squares_fit(points)
    if reason := rejection_reason(found, points):
        raise FitRefusedError(reason)
    return found


def rejection_reason(found: UslCurve, points: Sequence[ThroughputPoint]) -> str:
    """Why a curve must not be shown; empty if it may."""
    worst = max(points, key=lambda point: abs(found.tps(point.level) / point.tps - 1))
    miss = found.tps(worst.level) / worst.tps - 1
    if found.r2 < LEAST_R2:
        return f"it explains only {max(0.0, found.r2):.0%} of the variance"
    if abs(miss) > LARGEST_MISS:
        return f"it misses the {worst.tps:,.0f}/s measured at {worst.level:g} by {abs(miss):.0%}"
    if points[-1].level * found.lam < (1 + NO_LIMIT) * found.tps(points[-1].level):
        return "throughput grew in proportion or faster: no limit was found"
    return ""


def curve_points(found: UslCurve, highest: float) -> tuple[tuple[float, float], ...]:
    """Points of the curve for drawing, from one thread on, evenly spaced in logarithms."""
    span = math.log(max(highest, 2.0))
    levels = [math.exp(span * place / (CURVE_POINTS - 1)) for place in range(CURVE_POINTS)]
    return tuple((level, found.tps(level)) for level in levels)


def _least_squares_fit(points: Sequence[ThroughputPoint]) -> UslCurve:
    try:
        from scipy.optimize import least_squares
    except ImportError as error:
        raise FitRefusedError(f"it needs numpy and scipy: {REMEDY}") from error

    def misses(guess: Sequence[float]) -> list[float]:
        log_lam, sigma, kappa = guess
        return [
            math.log(usl_tps(point.level, math.exp(log_lam), sigma, kappa) / point.tps) for point in points
        ]

    start = [math.log(max(point.tps / point.level for point in points)), 0.05, 1e-4]
    bounds = ([-math.inf, 0.0, 0.0], [math.inf, 0.999, 1.0])
    solved = least_squares(misses, start, bounds=bounds, x_scale=[1.0, 0.1, 1e-3])
    log_lam, sigma, kappa = (float(value) for value in solved.x)
    return _with_r2(math.exp(log_lam), sigma, kappa, points)


def _with_r2(lam: float, sigma: float, kappa: float, points: Sequence[ThroughputPoint]) -> UslCurve:
    mean = math.fsum(point.tps for point in points) / len(points)
    whole = math.fsum((point.tps - mean) ** 2 for point in points)
    left = math.fsum((point.tps - usl_tps(point.level, lam, sigma, kappa)) ** 2 for point in points)
    return UslCurve(lam, sigma, kappa, 1 - left / whole if whole else 0.0)
