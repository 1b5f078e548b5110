"""What a count of cases proves about their share: the exact interval of Clopper and Pearson.

Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial"
(Biometrika 26, 1934). It is conservative: it misses the true share at most as often as its level says.
"""

from collections.abc import Callable
from math import comb

ERROR_RATE = 0.05
_STEPS = 60
"""Halvings of the interval 0 to 1: more than the digits of a float."""


def proportion_bounds(cases: int, trials: int) -> tuple[float, float]:
    """The least and the greatest share (0 to 1) that `cases` in so many independent `trials` allow, at 95 %
    confidence.

    For no case, or nothing but cases, the whole 5 % belong to the one bound that is not trivial. Raises
    ValueError without trials, or for more cases than trials.
    """
    if not 0 <= cases <= trials or not trials:
        raise ValueError(f"{cases} cases in {trials} trials")
    tail = ERROR_RATE if cases in (0, trials) else ERROR_RATE / 2
    least = _solve(lambda share: 1 - _at_most(cases - 1, trials, share) >= tail) if cases else 0.0
    greatest = _solve(lambda share: _at_most(cases, trials, share) <= tail) if cases < trials else 1.0
    return least, greatest


def _at_most(cases: int, trials: int, share: float) -> float:
    """The probability of at most so many cases."""
    return sum(comb(trials, each) * share**each * (1 - share) ** (trials - each) for each in range(cases + 1))


def _solve(holds: Callable[[float], bool]) -> float:
    """The least share for which a condition holds that holds for all greater ones."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
