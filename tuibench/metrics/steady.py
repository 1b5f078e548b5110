"""How well the level of a short series is known: its mean, with the half-width of the 95 % interval.

Neighbouring ticks are alike: n of them tell as much as n·(1−φ)/(1+φ) independent ones, if they are an AR(1)
series (Box, Jenkins & Reinsel, Time Series Analysis, ch. 2). φ is the cautious estimate of `bootstrap`, and
Student's t is taken with the degrees of freedom that remain.
"""

import math
from collections.abc import Sequence
from statistics import stdev
from typing import NamedTuple

from tuibench.metrics.bootstrap import autocorrelation
from tuibench.metrics.student import t_95

FEWEST_VALUES = 4


class Level(NamedTuple):
    """A mean; `half_width` is that of its 95 % interval as a share of it, infinite where it is not known."""

    mean: float
    half_width: float


def level_of(values: Sequence[float]) -> Level:
    """The level of a series that is at rest."""
    count = len(values)
    if not count:
        return Level(0.0, math.inf)
    mean = math.fsum(values) / count
    if count < FEWEST_VALUES or mean <= 0:
        return Level(mean, math.inf)
    phi = autocorrelation(values)
    independent = count * (1 - phi) / (1 + phi)
    error = stdev(values) / math.sqrt(independent)
    return Level(mean, t_95(max(2.0, independent - 1)) * error / mean)
