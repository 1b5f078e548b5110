"""Scale of a trend or a chart: where it begins and ends.

It begins at zero, unless all its values are far from zero and differ: bars of a buffer pool that is 97 to
98 % full, or of 21 GiB of memory, would fill every cell otherwise.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from tuibench.units import axis_maximum

NEAR_ZERO, LEAST_SPREAD = 0.5, 0.005
"""Values that are all above this share of the greatest, and differ by more than that share of it, are drawn
between their least and their greatest.
"""
_STEPS = 4
"""Steps of an axis that does not begin at zero."""


class Scale(NamedTuple):
    """The values at the lowest edge of a chart, and at its highest."""

    base: float
    top: float


def baseline(least: float, most: float) -> float:
    """Where a trend begins: zero, unless all values are far from it and differ. The least is a third of the
    height then, so that it is no zero; differences that are next to nothing are not blown up.
    """
    spread = most - least
    if least < NEAR_ZERO * most or spread < LEAST_SPREAD * most:
        return 0.0
    return least - spread / 2


def chart_scale(values: Sequence[float], *, may_rise: bool) -> Scale:
    """Round ends of an axis for these values; with `may_rise` it need not begin at zero."""
    most = max(values, default=0.0)
    base = baseline(min(values, default=0.0), most) if may_rise else 0.0
    if not base:
        return Scale(0.0, axis_maximum(most))
    step = axis_maximum((most - base) / _STEPS)
    return Scale(math.floor(base / step) * step, math.ceil(most / step) * step)
