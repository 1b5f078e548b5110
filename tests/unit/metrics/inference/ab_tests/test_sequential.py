"""A trial that is watched: false rarely in any noise, found soon, and the arithmetic of the sequence."""

import math
import random
from collections import Counter
from operator import eq

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.metrics.inference import simulated
from tests.unit.metrics.inference.noises import NOISES, white
from tests.unit.metrics.inference.simulated import share
from tuibench.metrics.inference.ab_tests.sequential import (
    ALPHA,
    PHI,
    Pair,
    differences,
    half_width,
    levels,
    pairs_until,
    progress,
    random_orders,
)
from tuibench.model.experiments.effect import Verdict


@pytest.mark.parametrize("repeats", [20, pytest.param(120, marks=pytest.mark.whole)])
@pytest.mark.parametrize("name", NOISES)
def test_a_watched_trial_of_one_value_seldom_says_anything(name: str, repeats: int) -> None:
    rng = random.Random(1)
    by_chance = 0.05 + 2 * math.sqrt(0.05 * 0.95 / repeats)
    assert share(simulated.any_figure_is_false(NOISES[name], rng) for _ in range(repeats)) <= by_chance


@pytest.mark.parametrize("repeats", [10, pytest.param(60, marks=pytest.mark.whole)])
@pytest.mark.parametrize("name", ["white", "AR 0.6", "AR 0.9", "random walk", "drift"])
def test_a_gain_of_a_fifth_is_found_within_a_minute(name: str, repeats: int) -> None:
    rng = random.Random(2)
    trials = [simulated.watched_trial(NOISES[name], rng, effect=math.log(1.2)) for _ in range(repeats)]
    assert share(one.verdict is Verdict.HIGHER and one.seconds <= 60 for one in trials) >= 0.9


@pytest.mark.parametrize("repeats", [10, pytest.param(60, marks=pytest.mark.whole)])
def test_equal_is_said_where_it_is_so_and_not_where_it_is_not(repeats: int) -> None:
    rng = random.Random(3)
    same = [simulated.watched_trial(white, rng, size=0.02, tolerance=0.02) for _ in range(repeats)]
    other = [
        simulated.watched_trial(white, rng, size=0.02, tolerance=0.02, effect=math.log(1.025))
        for _ in range(repeats)
    ]
    assert share(one.verdict is Verdict.EQUAL for one in same) >= 0.9
    assert share(one.verdict in (Verdict.EQUAL, Verdict.LOWER) for one in other) <= 0.05


def bayes_factor(observed: list[float], delta: float) -> float:
    """Of δ/σ ~ N(0, 1/φ) against δ, with the right Haar prior on σ, as the papers write it."""
    n = len(observed)
    mean = math.fsum(observed) / n
    squares = math.fsum((value - mean) ** 2 for value in observed)
    t_squared = (mean - delta) ** 2 * n * (n - 1) / squares
    ratio, nu = PHI / (PHI + n), n - 1
    logarithm = math.log((1 + ratio * t_squared / nu) / (1 + t_squared / nu))
    return math.sqrt(ratio) * math.exp(-(nu + 1) / 2 * logarithm)


@given(st.lists(st.floats(-1, 1), min_size=6, max_size=60, unique=True), st.floats(0.001, 0.2))
def test_the_bounds_are_where_the_bayes_factor_reaches_its_limit(observed: list[float], alpha: float) -> None:
    n, mean = len(observed), math.fsum(observed) / len(observed)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in observed) / (n - 1))
    half = half_width(n, deviation, alpha)
    if math.isfinite(half) and deviation > 1e-6:
        assert bayes_factor(observed, mean + half) == pytest.approx(1 / alpha, rel=1e-4)


@given(st.floats(0.001, 0.1))
def test_more_pairs_make_it_narrower_and_a_smaller_error_wider(alpha: float) -> None:
    widths = [half_width(count, 1.0, alpha) for count in range(2, 200)]
    finite = [width for width in widths if math.isfinite(width)]
    assert widths == [math.inf] * (len(widths) - len(finite)) + sorted(finite, reverse=True)
    assert half_width(50, 1.0, alpha) > half_width(50, 1.0, 2 * alpha)


def test_a_drift_is_taken_out_once_it_is_evident() -> None:
    orders, level, pairs = random_orders(40, 7), 1000.0, []
    for a_first in orders:
        first, second, level = level, level * 0.97, level * 0.97**2
        pairs.append(Pair(first, second, a_first) if a_first else Pair(second, first, a_first))
    observed = differences(pairs)
    assert max(map(abs, observed[:4])) == pytest.approx(-math.log(0.97))
    assert max(map(abs, observed[8:])) < 1e-9


def test_the_error_rate_is_shared_between_figures() -> None:
    shared = levels(("tps", "p95", "fsyncs"), "tps")
    assert math.fsum(shared.values()) == pytest.approx(ALPHA)
    assert shared["tps"] == max(shared.values())
    assert levels(("tps",), "tps") == {"tps": ALPHA}


def test_a_fair_coin_decides_the_order_and_a_seed_the_coin() -> None:
    orders = random_orders(2000, 1)
    assert orders == random_orders(2000, 1)
    assert 0.45 < share(orders) < 0.55


def test_no_test_begins_with_an_order_that_hides_a_late_effect() -> None:
    begun = Counter(tuple(random_orders(5, seed)) for seed in range(3000))
    assert len(begun) == 2**5 - 4
    assert not any(len(set(map(eq, orders, orders[1:]))) == 1 for orders in begun)
    assert all(0.45 < share([orders[place] for orders in begun.elements()]) < 0.55 for place in range(5))


def test_what_was_zero_under_b_is_decided() -> None:
    pairs = [Pair(1.0 + place / 1000, 0.0, place % 2 == 0) for place in range(6)]
    seen = progress(pairs, alpha=0.005)
    assert seen.verdict is Verdict.LOWER
    assert seen.interval.percent.estimate == pytest.approx(-100)


def test_the_same_figure_in_all_windows_is_equal() -> None:
    assert progress([Pair(0.0, 0.0, True)] * 6, alpha=0.005, tolerance=0.02).verdict is Verdict.EQUAL


def test_the_pairs_still_needed_lead_to_a_verdict() -> None:
    needed = pairs_until(0.05, 0.2, alpha=0.04, tolerance=0.0, done=10)
    assert needed is not None
    assert half_width(10 + needed, 0.2, 0.04) < 0.05 <= half_width(9 + needed, 0.2, 0.04)
    assert pairs_until(0.0, 0.2, alpha=0.04, tolerance=0.0, done=10) is None


def test_a_single_pair_says_nothing() -> None:
    seen = progress([Pair(1.0, 3.0, True)], alpha=0.04)
    assert (seen.verdict, seen.pairs_needed) == (Verdict.CANNOT_TELL, None)
    assert seen.interval.low == -math.inf
