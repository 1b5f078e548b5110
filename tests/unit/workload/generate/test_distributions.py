"""Key distributions against their formulas, on many draws from a fixed seed."""

import math
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuibench.workload.generate.distributions import key_draw
from tuibench.workload.program.values import Distribution, Gaussian, Pareto, Special, Uniform, Zipfian

SPECIAL = Special(iterations=12, hot_width=0.01, hot_share=0.75)
DRAWS = 200_000
ALL = (Uniform(), Gaussian(12), Gaussian(5), SPECIAL, Pareto(0.2), Zipfian(0.8), Zipfian(1.0), Zipfian(0.0))


def draws(distribution: Distribution, low: int, high: int, count: int = DRAWS) -> Counter[int]:
    draw = key_draw(distribution, low, high, Random(7))
    return Counter(draw() for _ in range(count))


def share(found: Counter[int], low: int, high: int) -> float:
    return sum(count for key, count in found.items() if low <= key <= high) / found.total()


@given(
    distribution=st.sampled_from(ALL),
    low=st.integers(-5, 100),
    span=st.integers(0, 2000),
    seed=st.integers(0, 2**32),
)
def test_keys_stay_within_their_bounds(distribution: Distribution, low: int, span: int, seed: int) -> None:
    draw = key_draw(distribution, low, low + span, Random(seed))
    assert all(low <= draw() <= low + span for _ in range(200))


@given(width=st.floats(0, 1), hot=st.floats(0, 1), keys=st.integers(1, 1000), seed=st.integers(0, 2**32))
def test_special_keys_stay_within_their_bounds(width: float, hot: float, keys: int, seed: int) -> None:
    draw = key_draw(Special(3, width, hot), 1, keys, Random(seed))
    assert all(1 <= draw() <= keys for _ in range(200))


@pytest.mark.parametrize("distribution", ALL)
def test_a_range_of_one_has_one_key(distribution: Distribution) -> None:
    assert set(draws(distribution, 42, 42, 1000)) == {42}


def test_uniform_draws_every_key_equally_often() -> None:
    found = draws(Uniform(), 1, 10)
    assert set(found) == set(range(1, 11))
    assert all(count == pytest.approx(DRAWS / 10, rel=0.03) for count in found.values())


@pytest.mark.parametrize("iterations", [5, 12, 40])
def test_uniform_values_are_added_from_left_to_right(iterations: int) -> None:
    """Python 3.12 and newer compensate in sum(): keys of a large range would differ by version."""
    keys, stream = 2**52, Random(7)
    draw, scale = key_draw(Gaussian(iterations), 0, keys - 1, Random(7)), keys / iterations
    for _ in range(1000):
        total = 0.0
        for _ in range(iterations):
            total += stream.random()
        assert draw() == int(total * scale)


def test_special_draws_three_quarters_from_a_window_in_the_middle() -> None:
    """sysbench's formula: the window is 1 % of the keys, and only its last three quarters are ever hit."""
    found = draws(SPECIAL, 1, 100_000)
    first, last = 1 + 49_749, 1 + 50_500
    hot = [key for key, count in found.items() if count > 50]
    assert share(found, first, last) == pytest.approx(0.75 + 0.25 * 0.0361, abs=0.004)
    assert first <= min(hot) <= first + 1
    assert last - 1 <= max(hot) <= last
    assert len(hot) == pytest.approx(750, abs=3)


def test_special_draws_the_rest_as_the_mean_of_twelve() -> None:
    """The mean of 12 uniform draws has the deviation 1 / 12 of the range: a sixth lies beyond one of them."""
    found = draws(SPECIAL, 1, 120_000)
    assert share(found, 1, 50_000) == pytest.approx(0.25 * 0.16, abs=0.003)
    assert share(found, 70_001, 120_000) == pytest.approx(0.25 * 0.16, abs=0.003)


def test_special_follows_its_parameters() -> None:
    found = draws(Special(iterations=12, hot_width=0.1, hot_share=0.5), 1, 10_000)
    hot = [key for key, count in found.items() if count > 100]
    assert min(hot) == pytest.approx(5000 - 500 + 500, abs=3)
    assert max(hot) == pytest.approx(5000 + 501, abs=3)


@pytest.mark.parametrize("iterations", [12, 3])
def test_gaussian_is_the_mean_of_uniform_draws(iterations: int) -> None:
    found = draws(Gaussian(iterations), 1, 120_000)
    mean = sum(key * count for key, count in found.items()) / DRAWS
    variance = sum((key - mean) ** 2 * count for key, count in found.items()) / DRAWS
    assert mean == pytest.approx(60_000, rel=0.01)
    assert math.sqrt(variance) == pytest.approx(120_000 / math.sqrt(12 * iterations), rel=0.02)


def test_pareto_is_self_similar() -> None:
    """With h = 0.2 the first fifth of the keys takes four fifths of the draws, and so on within it."""
    found = draws(Pareto(0.2), 1, 100_000)
    assert share(found, 1, 20_000) == pytest.approx(0.8, abs=0.005)
    assert share(found, 1, 4_000) == pytest.approx(0.64, abs=0.005)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 0.8, 1.0, 1.5])
def test_zipfian_falls_with_the_rank(exponent: float) -> None:
    found = draws(Zipfian(exponent), 1, 100)
    weights = [rank**-exponent for rank in range(1, 101)]
    for rank in (1, 2, 3, 10, 100):
        expected = DRAWS * weights[rank - 1] / sum(weights)
        assert found[rank] == pytest.approx(expected, abs=5 * math.sqrt(expected))
