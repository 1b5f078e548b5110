"""Student's t without a library: the two-sided 95 % quantile."""

from itertools import pairwise
from statistics import NormalDist

NORMAL_95 = NormalDist().inv_cdf(0.975)
_SMALL = ((1.0, 12.7062), (2.0, 4.3027), (3.0, 3.1824), (4.0, 2.7764), (5.0, 2.5706))
"""Below five degrees of freedom the expansion is of no use."""


def t_95(degrees: float) -> float:
    """The value that |t| exceeds in 5 of 100 cases; degrees of freedom may be fractions, at least 1.

    Cornish-Fisher expansion (Abramowitz & Stegun 26.7.5) from five degrees on, interpolated below; good to
    four digits.
    """
    degrees = max(degrees, _SMALL[0][0])
    for (low, at_low), (high, at_high) in pairwise(_SMALL):
        if degrees < high:
            return at_low + (at_high - at_low) * (degrees - low) / (high - low)
    z = NORMAL_95
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160,
    )
    return z + sum(term / degrees**power for power, term in enumerate(terms, 1))
