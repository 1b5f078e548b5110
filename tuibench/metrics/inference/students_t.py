"""Quantiles of Student's t distribution."""

import math
from functools import lru_cache
from statistics import NormalDist


@lru_cache(maxsize=4096)
def two_sided(level: float, degrees: float) -> float:
    """The value that |t| exceeds with probability `level`; at least one degree of freedom, fractions allowed.

    Hill, "Algorithm 396: Student's t-quantiles" (Communications of the ACM 13, 1970): within
    0.2 % for two degrees or more; exact for one, and up to 5 % too large between them.
    """
    if not 0 < level < 1 or degrees < 1:
        raise ValueError(f"no t quantile for level {level} and {degrees} degrees of freedom")
    if degrees == 1:
        return 1 / math.tan(level * math.pi / 2)
    if degrees < 2:
        share = 2 - 2 / degrees
        return math.exp((1 - share) * math.log(two_sided(level, 1)) + share * math.log(two_sided(level, 2)))
    if degrees == 2:
        return math.sqrt(2 / (level * (2 - level)) - 2)
    return _hill(level, degrees)


def _hill(level: float, n: float) -> float:
    a = 1 / (n - 0.5)
    b = 48 / (a * a)
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * n
    y = (d * level) ** (2 / n)
    if y > 0.05 + a:
        y = _near_normal(level, n, a, b, c, d)
    else:
        y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * (
            n + 1
        ) / (n + 2) + 1 / y
    return math.sqrt(n * y)


def _near_normal(level: float, n: float, a: float, b: float, c: float, d: float) -> float:
    x = NormalDist().inv_cdf(level / 2)
    y = x * x
    if n < 5:
        c += 0.3 * (n - 4.5) * (x + 0.6)
    c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
    return math.expm1(a * y * y)
