"""Intervals of a relative difference, and their verdicts: higher, lower, equal, or cannot tell.

A verdict follows from a confidence interval, so that one error rate covers all of them: if the interval
contains the true difference, none of the three statements is wrong.
"""

import math
from typing import NamedTuple

from tuibench.model.experiments.effect import Verdict


class Interval(NamedTuple):
    """A difference of logarithms with its confidence interval; infinite bounds if nothing is known."""

    estimate: float
    low: float
    high: float

    @classmethod
    def around(cls, estimate: float, half_width: float) -> "Interval":
        return cls(estimate, estimate - half_width, estimate + half_width)

    @property
    def percent(self) -> "Interval":
        """The interval as a relative difference in percent."""
        return Interval(*(_percent(bound) for bound in self))

    def verdict(self, tolerance: float = 0.0) -> Verdict:
        """The verdict; `tolerance` is a share: 0.02 is ±2 %, and 0 never says "equal".

        A difference that is known to be above zero is "higher" even if it is within the tolerance.
        """
        if self.low > 0:
            return Verdict.HIGHER
        if self.high < 0:
            return Verdict.LOWER
        if tolerance > 0 and math.log1p(-tolerance) <= self.low and self.high <= math.log1p(tolerance):
            return Verdict.EQUAL
        return Verdict.CANNOT_TELL


def _percent(difference: float) -> float:
    try:
        return 100 * math.expm1(difference)
    except OverflowError:
        return math.inf
