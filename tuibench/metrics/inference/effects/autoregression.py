"""Errors of an autoregressive series of order one: their correlation, and the variance of weighted sums."""

import math
from collections.abc import Sequence
from operator import mul

CAUTION = 0.3
"""The number of standard errors that φ is raised by."""

LARGEST_PHI = 0.97


def phi_of(residuals: Sequence[float], join: int, parameters: int) -> float:
    """Lag-one autocorrelation, corrected for bias and raised; the pair across the gap is not included."""
    count = len(residuals)
    squares = dot(residuals, residuals)
    if squares <= 0:
        return 0.0
    products = math.fsum(
        residuals[place] * residuals[place - 1] for place in range(1, count) if place != join
    )
    raw = products / squares
    unbiased = (raw + (parameters - 1) / count) / max(1 - (parameters + 1) / count, 0.25)
    unbiased = min(max(unbiased, 0.0), LARGEST_PHI)
    return min(unbiased + CAUTION * math.sqrt((1 - unbiased**2) / count), LARGEST_PHI)


def weighted_variance(weights: Sequence[float], times: Sequence[float], phi: float) -> float:
    """Variance of the weighted sum of a stationary AR(1) series of variance one."""
    total = carried = 0.0
    last = times[0]
    for weight, time in zip(weights, times, strict=True):
        carried *= phi ** (time - last)
        total += weight * (weight + 2 * carried)
        carried += weight
        last = time
    return max(total, 0.0)


def orthonormal(columns: Sequence[Sequence[float]]) -> list[list[float]]:
    """Gram-Schmidt orthonormalisation. A column that the earlier ones contain becomes zero."""
    basis: list[list[float]] = []
    for column in columns:
        rest = without(column, basis)
        length = math.sqrt(dot(rest, rest))
        is_new = length > 1e-9 * math.sqrt(dot(column, column))
        basis.append([value / length for value in rest] if is_new else [0.0] * len(rest))
    return basis


def without(values: Sequence[float], basis: Sequence[Sequence[float]]) -> list[float]:
    """What is left of a vector after its projections on orthonormal ones."""
    rest = list(values)
    for one in basis:
        part = dot(rest, one)
        rest = [value - part * other for value, other in zip(rest, one, strict=True)]
    return rest


def dot(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(map(mul, one, other))
