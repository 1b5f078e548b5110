"""Gunther's Universal Scalability Law, fitted to measured levels.

X(N) = λ·N / (1 + σ·(N−1) + κ·N·(N−1))

σ is the share of the work that queues (contention), κ the cost of keeping shared data consistent (coherency);
N_max = √((1−σ)/κ) has the highest throughput (Gunther, Guerrilla Capacity Planning, 2007). The fit weights
relative errors, within 0 ≤ σ < 1 and κ ≥ 0. A fit that the measurements do not support is rejected.

scipy is imported only when a curve is fitted.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from tuibench.errors import RunError
from tuibench.metrics.scaling.knee import ThroughputPoint

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
