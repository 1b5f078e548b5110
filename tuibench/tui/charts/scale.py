"""Scale of a sparkline or a chart: its lower and upper bound.

The lower bound is zero, unless all values are far from zero and differ: bars of a buffer pool that is 97 to
98 % full, or of 21 GiB of memory, would fill every cell otherwise. A chart of a rate starts at zero, so that
its bars are proportional to the rate.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from tuibench.units import axis_maximum

NEAR_ZERO, LEAST_SPREAD = 0.5, 0.005
"""Values that all exceed this share of the maximum, and differ by more than that share of it, are drawn
between their minimum and their maximum.
"""
_STEPS = 4
"""Number of steps of an axis that does not start at zero."""
_KIB, _LEAST_CARRIED, _MOST_CARRIES = 1024.0, 1000.0, 6


class Scale(NamedTuple):
    """Values at the lower and the upper edge of a chart."""

    base: float
    top: float


def baseline(least: float, most: float) -> float:
    """Lower bound of a sparkline: zero, unless all values are far from it and differ. The minimum is then
    drawn at a third of the height, so that it is not mistaken for zero; negligible differences are not
    magnified.
    """
    spread = most - least
    if least < NEAR_ZERO * most or spread < LEAST_SPREAD * most:
        return 0.0
    return least - spread / 2


def chart_scale(values: Sequence[float], *, may_rise: bool, is_bytes: bool = False) -> Scale:
    """Rounded axis bounds for these values; with `may_rise` the lower one may be above zero. Bytes are
    rounded in binary units, in which they are labelled.
    """
    most = max(values, default=0.0)
    base = baseline(min(values, default=0.0), most) if may_rise else 0.0
    rounded = _byte_maximum if is_bytes else axis_maximum
    if not base:
        return Scale(0.0, rounded(most))
    step = rounded((most - base) / _STEPS)
    return Scale(math.floor(base / step) * step, math.ceil(most / step) * step)


def _byte_maximum(value: float) -> float:
    """The next round number of bytes, KiB, MiB or more: 14.3 MiB gives 15 MiB, 900 KiB give 1 MiB."""
    unit = 1.0
    for _ in range(_MOST_CARRIES):
        unit *= _KIB if value >= _KIB * unit else 1.0
    rounded = axis_maximum(value / unit)
    return (rounded if rounded < _LEAST_CARRIED else _KIB) * unit
