"""How well the level of a series is known: the interval must hold the truth, and narrow as ticks come in."""

import math
import random

import pytest

from tests.unit.metrics.noise import LEVEL, ar1
from tuibench.metrics.inference.means import estimate_mean


@pytest.mark.parametrize(("phi", "share"), [(0.0, 0.95), (0.35, 0.95), (0.6, 0.9)])
def test_the_interval_holds_the_truth(phi: float, share: float) -> None:
    rng = random.Random(5)
    runs, held = 400, 0
    for _ in range(runs):
        level = estimate_mean(ar1(rng, 10, phi, 20.0))
        held += abs(level.mean / LEVEL - 1) <= level.half_width
    assert held >= share * runs


def test_more_ticks_make_it_narrower() -> None:
    values = ar1(random.Random(1), 40, 0.3, 20.0)
    widths = [estimate_mean(values[:count]).half_width for count in (5, 10, 20, 40)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.02


@pytest.mark.parametrize("values", [[], [1.0, 2.0, 3.0], [0.0] * 9])
def test_too_little_is_no_interval(values: list[float]) -> None:
    assert estimate_mean(values).half_width == math.inf
