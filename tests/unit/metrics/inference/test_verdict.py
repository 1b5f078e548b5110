"""Verdicts are read off an interval; levels of zero have a scale of their own."""

import math

import pytest

from tuibench.metrics.inference.scale import Scale
from tuibench.metrics.inference.verdict import Interval
from tuibench.model.experiments.effect import Verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.01, 0.05, Verdict.HIGHER),
        (0.001, 0.01, Verdict.HIGHER),
        (-0.05, -0.01, Verdict.LOWER),
        (-0.015, 0.015, Verdict.EQUAL),
        (0.0, 0.0, Verdict.EQUAL),
        (-0.03, 0.01, Verdict.CANNOT_TELL),
        (-math.inf, math.inf, Verdict.CANNOT_TELL),
    ],
)
def test_the_words_of_an_interval(low: float, high: float, verdict: Verdict) -> None:
    assert Interval((low + high) / 2, low, high).verdict(0.02) is verdict


def test_without_a_tolerance_nothing_is_equal() -> None:
    assert Interval(0.0, -1e-9, 1e-9).verdict() is Verdict.CANNOT_TELL


def test_bounds_in_percent_are_relative_differences() -> None:
    assert Interval(math.log(1.5), math.log(0.5), 1e9).percent == pytest.approx((50, -50, math.inf))


def test_zero_makes_differences_shares_of_the_first_side() -> None:
    scale = Scale.of([2.0, 2.0], [0.0, 0.0])
    assert scale.interval(scale(0.0) - scale(2.0), 0.5).percent == pytest.approx((-100, -100, -50))
    assert Scale.of([0.0], [0.0])(0.0) == 0.0
