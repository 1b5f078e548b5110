"""The paired result: what drifts is taken out, and the interval holds the truth as often as it says."""

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuibench.metrics.inference.ab_tests.paired import (
    FEWEST_PAIRS,
    WindowDifference,
    compare_pairs,
    compare_so_far,
    window_differences,
    without_drift,
)
from tuibench.model.experiments.effect import AbTestPair, Comparison, EffectFigure, Verdict


def run(
    cycles: int, gain: float, *, drift: float = 0.0, noise: float = 0.0, seed: int = 1
) -> list[AbTestPair]:
    """Windows with `drift` from each to the next (relative), in the order A B, B A, A B, …"""
    rng, level, pairs = random.Random(seed), 1000.0, []
    for cycle in range(1, cycles + 1):
        order = "AB" if cycle % 2 else "BA"
        seen = {}
        for value in order:
            seen[value] = level * (gain if value == "B" else 1.0) * math.exp(rng.gauss(0, noise))
            level *= 1 + drift
        pairs.append(
            AbTestPair(
                cycle=cycle,
                order=order,
                a={EffectFigure.TPS: seen["A"]},
                b={EffectFigure.TPS: seen["B"]},
                settling_seconds=0.0,
            )
        )
    return pairs


def tps(pairs: list[AbTestPair]) -> Comparison:
    (found,) = compare_pairs(pairs)
    return found


@pytest.mark.parametrize("cycles", [4, 5, 6, 7])
@pytest.mark.parametrize("drift", [-0.05, 0.03, 0.2])
def test_a_steady_drift_changes_nothing(cycles: int, drift: float) -> None:
    found = tps(run(cycles, 1.3, drift=drift))
    assert found.percent == pytest.approx(30.0, abs=1e-6)
    assert found.differs
    assert tps(run(cycles, 1.0, drift=drift)).percent == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("cycles", [4, 5, 8])
def test_the_interval_holds_no_difference_as_often_as_it_says(cycles: int) -> None:
    quiet = sum(not tps(run(cycles, 1.0, drift=0.02, noise=0.05, seed=seed)).differs for seed in range(600))
    assert 0.94 <= quiet / 600 <= 0.985


def test_a_gain_is_found_and_held() -> None:
    held = 0
    for seed in range(200):
        found = tps(run(5, 1.5, noise=0.05, seed=seed))
        assert found.percent_low is not None
        assert found.percent_high is not None
        held += found.percent_low <= 50 <= found.percent_high
        assert found.differs
    assert held >= 186


def test_it_is_least_squares_over_all_neighbours() -> None:
    """Worked by hand: the mean of x is 0, so δ = (0.30 + 0.15) / 2, and γ is the mean difference, 0.10."""
    taken = [
        WindowDifference(1, 0.30),
        WindowDifference(0, 0.15),
        WindowDifference(-1, -0.15),
        WindowDifference(0, 0.10),
        WindowDifference(0, 0.10),
    ]
    found = without_drift(taken)
    assert found.value == pytest.approx((0.30 + 0.15) / 2)
    residual = sum((step.difference - 0.10 - found.value * step.x) ** 2 for step in taken)
    assert found.margin == pytest.approx(4.303 * math.sqrt(residual / 3 / 2), rel=1e-3)


def test_neighbours_of_the_same_value_count_where_they_are_neighbours() -> None:
    pairs = run(4, 1.5, drift=0.1)
    assert [step.x for step in window_differences(pairs, EffectFigure.TPS, math.log)] == [
        1,
        0,
        -1,
        0,
        1,
        0,
        -1,
    ]
    assert [step.x for step in window_differences([*pairs[:1], *pairs[2:]], EffectFigure.TPS, math.log)] == [
        1,
        1,
        0,
        -1,
    ]


def test_too_few_pairs_give_no_interval() -> None:
    assert compare_pairs(run(FEWEST_PAIRS - 1, 2.0)) == ()


def test_a_figure_that_was_nothing_is_compared_without_a_ratio() -> None:
    pairs = [
        AbTestPair(
            cycle=n,
            order=order,
            a={EffectFigure.FSYNCS: 1.0 + n / 100},
            b={EffectFigure.FSYNCS: 0.0},
            settling_seconds=0,
        )
        for n, order in enumerate(("AB", "BA", "AB", "BA"))
    ]
    found = tps(pairs)
    assert found.figure is EffectFigure.FSYNCS
    assert found.after == pytest.approx(0.0)
    assert found.percent == pytest.approx(-100)
    assert found.differs


@pytest.mark.parametrize("compare", [compare_pairs, compare_so_far])
@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        (lambda n: 1.0 + n / 100, lambda n: 0.0, Verdict.LOWER),
        (lambda n: 1.0 + n / 100, lambda n: 0.02 * (n % 3 == 0), Verdict.LOWER),
        (lambda n: 0.0, lambda n: 1.0 + n / 100, Verdict.HIGHER),
        (lambda n: 0.001 * (n % 4 == 1), lambda n: 1.0 + n / 100, Verdict.HIGHER),
        (lambda n: 0.0, lambda n: 0.0, Verdict.EQUAL),
    ],
)
def test_zeros_in_some_windows_or_all_are_compared(
    compare: Callable[..., tuple[Comparison, ...]],
    a: Callable[[int], float],
    b: Callable[[int], float],
    verdict: Verdict,
) -> None:
    pairs = [
        AbTestPair(
            cycle=n,
            order=order,
            a={EffectFigure.TPS: 100.0 + n, EffectFigure.FSYNCS: a(n)},
            b={EffectFigure.TPS: 90.0 + n * n % 7, EffectFigure.FSYNCS: b(n)},
            settling_seconds=0,
        )
        for n, order in enumerate(("AB", "BA", "BA", "AB", "AB", "BA", "AB", "BA"))
    ]
    found = next(one for one in compare(pairs, tolerance=0.02) if one.figure is EffectFigure.FSYNCS)
    assert found.verdict is verdict
    assert found.low <= found.delta <= found.high
    assert found.delta == pytest.approx(sum(map(b, range(8))) / 8 - sum(map(a, range(8))) / 8, abs=0.02)


@given(st.lists(st.floats(1, 1e5), min_size=8, max_size=20))
def test_the_estimate_is_in_the_middle_of_everything(values: list[float]) -> None:
    half = len(values) // 2
    pairs = [
        AbTestPair(
            cycle=n,
            order="AB" if n % 2 else "BA",
            a={EffectFigure.TPS: values[n]},
            b={EffectFigure.TPS: values[half + n]},
            settling_seconds=0,
        )
        for n in range(half)
    ]
    found = tps(pairs)
    assert found.low <= found.delta <= found.high
    assert found.delta == pytest.approx(found.after - found.before, rel=1e-6, abs=1e-3)
