"""Many draws of each distribution, in a histogram, against the chances that its formula gives each part.

The bound is five standard deviations of each count: a right generator fails one of these in a million runs,
and the seeds are fixed.
"""

import math
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from tuibench.workload.generate.distributions import key_draw
from tuibench.workload.program.values import Distribution, Gaussian, Pareto, Special, Uniform, Zipfian

DRAWS = 300_000
KEYS = 100_000
BINS = 50
SPECIAL = Special(iterations=12, hot_width=0.01, hot_share=0.75)
HOT_ROWS = 743
"""sysbench's own window at 100,000 rows, of which three quarters of the draws hit about as many."""

Cumulated = Callable[[float], float]
"""The chance of a key at or below this share of the keys."""


def histogram(distribution: Distribution) -> Counter[int]:
    draw = key_draw(distribution, 1, KEYS, Random(11))
    return Counter([draw() for _ in range(DRAWS)])


def binned(found: Counter[int]) -> list[int]:
    bins = [0] * BINS
    for key, count in found.items():
        bins[(key - 1) * BINS // KEYS] += count
    return bins


def irwin_hall(n: int, mean: float) -> float:
    """The chance that the mean of n uniform numbers is at most `mean`."""
    x = mean * n
    terms = ((-1) ** k * math.comb(n, k) * (x - k) ** n for k in range(int(x) + 1))
    return min(max(math.fsum(terms) / math.factorial(n), 0.0), 1.0)


def zipf(exponent: float) -> Cumulated:
    weights = [rank**-exponent for rank in range(1, KEYS + 1)]
    total = math.fsum(weights)
    sums, running = [0.0], 0.0
    for weight in weights:
        running += weight
        sums.append(running / total)
    return lambda share: sums[round(share * KEYS)]


def special(share: float) -> float:
    """A quarter as the mean of twelve, the rest in a window: one number chooses it, and the place in it."""
    span = KEYS - 1
    key = share * KEYS
    chosen = (key - span / 2 + SPECIAL.hot_width * span / 2) / (SPECIAL.hot_width * span + 1)
    hot = min(max(chosen - 0.25, 0.0), 0.75)
    return 0.25 * irwin_hall(12, min(key / span, 1.0)) + hot


def pareto(h: float) -> Cumulated:
    return lambda share: share ** (math.log(1 - h) / math.log(h))


CASES: list[tuple[Distribution, Cumulated]] = [
    (Uniform(), lambda share: share),
    (Gaussian(12), lambda share: irwin_hall(12, share)),
    (Gaussian(3), lambda share: irwin_hall(3, share)),
    (SPECIAL, special),
    (Pareto(0.2), pareto(0.2)),
    (Pareto(0.4), pareto(0.4)),
    (Zipfian(0.8), zipf(0.8)),
    (Zipfian(1.0), zipf(1.0)),
    (Zipfian(1.3), zipf(1.3)),
]


@pytest.mark.parametrize(("distribution", "cumulated"), CASES, ids=[str(case) for case, _ in CASES])
def test_draws_follow_the_formula(distribution: Distribution, cumulated: Cumulated) -> None:
    found = binned(histogram(distribution))
    for number, count in enumerate(found):
        chance = cumulated((number + 1) / BINS) - cumulated(number / BINS)
        deviation = math.sqrt(DRAWS * chance * (1 - chance))
        assert count == pytest.approx(DRAWS * chance, abs=5 * deviation + 1), f"bin {number}"


def test_three_quarters_of_special_draws_hit_a_window_of_743_rows() -> None:
    """The rows around the middle that are hit at all often: as wide as sysbench's, and as often hit."""
    found = histogram(SPECIAL)
    hot = {key for key, count in found.items() if count > 90}
    assert len(hot) == pytest.approx(HOT_ROWS, abs=8)
    assert max(hot) - min(hot) + 1 == len(hot)
    share = sum(found[key] for key in hot) / DRAWS
    assert share == pytest.approx(0.75 + 0.25 * 0.0364, abs=0.012)
