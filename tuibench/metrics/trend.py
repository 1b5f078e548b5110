"""Least squares of a short series against its own index."""

import math
from collections.abc import Sequence


def trend_ratio(values: Sequence[float]) -> float:
    """The slope in its own standard errors; 0 for fewer than three values, infinite for a straight climb."""
    count = len(values)
    if count < 3:
        return 0.0
    mean, middle = math.fsum(values) / count, (count - 1) / 2
    spread = (count**3 - count) / 12
    slope = math.fsum((place - middle) * value for place, value in enumerate(values)) / spread
    residual = math.fsum((value - mean - slope * (place - middle)) ** 2 for place, value in enumerate(values))
    error = math.sqrt(residual / (count - 2) / spread)
    if error <= 1e-12 * max(abs(mean), abs(slope)):
        return 0.0 if abs(slope) <= 1e-12 * abs(mean) else math.copysign(math.inf, slope)
    return slope / error
