"""Scale for the comparison of levels: logarithms, so that differences are relative."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from tuibench.metrics.inference.verdict import Interval

NEXT_TO_NOTHING = 0.05
"""The share of the highest level below which a level counts as zero."""


class Scale(NamedTuple):
    """Logarithms; or shares of `unit` if some level is near zero."""

    unit: float | None = None

    @classmethod
    def of(cls, first: Iterable[float], other: Iterable[float]) -> "Scale":
        """The scale of two sides, relative to the first: logarithms unless a level is near zero.

        The logarithms of very small levels vary so much that they would hide a difference.
        """
        first, other = list(first), list(other)
        every = [*first, *other]
        if not every or min(every) > NEXT_TO_NOTHING * max(every):
            return cls()
        return cls(_mean(first) or _mean(other) or 1.0)

    def __call__(self, level: float) -> float:
        return math.log(level) if self.unit is None else level / self.unit

    def level(self, value: float) -> float:
        """The level of a value on this scale."""
        return math.exp(value) if self.unit is None else value * self.unit

    def interval(self, estimate: float, half_width: float) -> Interval:
        """estimate ± half_width on this scale, as differences of logarithms."""
        found = Interval.around(estimate, half_width)
        if self.unit is None:
            return found
        return Interval(*(math.log1p(bound) if bound > -1 else -math.inf for bound in found))


def _mean(levels: list[float]) -> float:
    return math.fsum(levels) / len(levels) if levels else 0.0
