"""Detection of the end of a transient after a change.

A window is settled if its least-squares slope is within `TREND_LIMIT` standard errors of zero. The
first such window after the change is used, so that no usable slot is discarded. One and a half
standard errors detect an exponential approach of several times the noise until its remainder is below the
interval's own width, and discard less than one slot in steady noise.

Truncation of a start-up transient is a known problem of simulation output: White, "An effective truncation
heuristic for bias reduction in simulation output" (Simulation 69, 1997), whose MSER is about as good here,
but needs twice as many slots for a reliable minimum.

Least squares of a short series against its own index.
"""

import math
from collections.abc import Sequence


def trend_ratio(values: Sequence[float]) -> float:
    """The slope in its own standard errors; 0 for fewer than three values, infinite for an exact line."""
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


TREND_LIMIT = 1.5


def settled_at(
    series: Sequence[Sequence[float]], window: int, *, least: int = 0, most: int | None = None
) -> int | None:
    """The number of slots to discard until a window of all the series is settled.

    The series are of equal length and start at the change. At least `least` and at most `most` slots are
    discarded. None if no window within that range is settled (yet).
    """
    length = min((len(one) for one in series), default=0)
    last = length - window if most is None else min(most, length - window)
    for start in range(least, last + 1):
        if all(is_at_rest(one[start : start + window]) for one in series):
            return start
    return None


def is_at_rest(values: Sequence[float]) -> bool:
    """True if the values show no trend beyond their noise."""
    return abs(trend_ratio(values)) <= TREND_LIMIT
