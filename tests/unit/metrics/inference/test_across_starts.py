"""Groups of starts: a start is one observation, and one start says nothing about the next."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.unit.metrics.inference import simulated
from tests.unit.metrics.inference.simulated import share
from tuibench.metrics.inference.across_starts import LEVEL, compare
from tuibench.model.experiments.effect import Verdict

REPEATS = 300
BY_CHANCE = 0.05 + 2 * math.sqrt(0.05 * 0.95 / REPEATS)


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("ratio", [1.0, 2.0])
def test_equal_servers_seldom_differ(count: int, ratio: float) -> None:
    rng = random.Random(1)
    assert share(simulated.starts_differ(rng, count, ratio=ratio) for _ in range(REPEATS)) <= BY_CHANCE


def test_a_gain_of_a_fifth_is_found_with_five_starts() -> None:
    rng = random.Random(2)
    assert share(simulated.starts_differ(rng, 5, effect=math.log(1.2)) for _ in range(100)) >= 0.9


def test_many_runs_of_one_start_are_no_verdict() -> None:
    found = compare([[100.0, 101.0, 99.0] * 10], [[150.0, 151.0, 149.0] * 10])
    assert found.verdict is Verdict.CANNOT_TELL
    assert found.interval.percent.estimate == pytest.approx(50, abs=0.1)
    assert found.interval.low == -math.inf


levels = st.lists(st.floats(50, 200), min_size=2, max_size=8, unique=True)


@given(levels, levels)
def test_it_is_welchs_interval_of_the_logarithms(first: list[float], other: list[float]) -> None:
    logs = [[math.log(level) for level in group] for group in (other, first)]
    if min(map(max, logs)) - min(map(min, logs)) < 1e-6:
        return
    expected = stats.ttest_ind(*logs, equal_var=False).confidence_interval(1 - LEVEL)
    found = compare([[level] for level in first], [[level] for level in other]).interval
    width = expected.high - expected.low
    assert found.low == pytest.approx(expected.low, abs=0.03 * width)
    assert found.high == pytest.approx(expected.high, abs=0.03 * width)


def test_figures_of_zero_are_compared() -> None:
    zero = [[0.0], [0.0]]
    assert compare(zero, zero, tolerance=0.02).verdict is Verdict.EQUAL
    assert compare([[1.0], [1.0]], zero).verdict is Verdict.LOWER
