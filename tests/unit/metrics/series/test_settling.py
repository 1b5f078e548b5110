"""When a load has come to rest: not too early after a change, at once where there is nothing to wait for."""

import math
import random
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.metrics.noise import ar1
from tuibench.metrics.series.settling import is_at_rest, settled_at, trend_ratio

WINDOW = 12


def approach(rng: random.Random, tau: float, count: int = 60) -> list[float]:
    """From 600 to 1000 with the time constant `tau`, in 3 % noise."""
    noise = ar1(rng, count, 0.3, 30.0)
    return [value - 400 * math.exp(-(place + 0.5) / tau) for place, value in enumerate(noise)]


def found(tau: float | None, runs: int = 60) -> list[int]:
    rng = random.Random(11)
    series = [ar1(rng, 60, 0.3, 30.0) if tau is None else approach(rng, tau) for _ in range(runs)]
    return [place for one in series if (place := settled_at((one,), WINDOW)) is not None]


def test_steady_noise_costs_next_to_nothing() -> None:
    assert mean(found(None)) < 1.5


@pytest.mark.parametrize(("tau", "remains"), [(1.0, 0.35), (2.0, 0.2), (4.0, 0.2)])
def test_an_exponential_approach_is_waited_for(tau: float, remains: float) -> None:
    places = found(tau)
    assert len(places) == 60
    assert mean(math.exp(-place / tau) for place in places) < remains
    assert mean(places) < 5 * tau + 1


def test_a_slower_approach_is_waited_for_longer() -> None:
    quick, slow = mean(found(1.0)), mean(found(4.0))
    assert quick < slow / 2


def test_a_series_that_never_rests_is_said_to_be_none() -> None:
    assert settled_at(([float(place) for place in range(80)],), WINDOW) is None


def test_all_series_must_rest() -> None:
    rng = random.Random(3)
    still, moving = ar1(rng, 60, 0.0, 10.0), approach(rng, 4.0)
    assert settled_at((still,), WINDOW) == 0
    both = settled_at((still, moving), WINDOW)
    assert both is not None
    assert both > 3


@given(st.lists(st.floats(0, 1e6), max_size=40), st.integers(1, 12), st.integers(0, 5), st.integers(0, 20))
def test_the_limits_are_kept_and_the_window_is_there(
    values: list[float], window: int, least: int, most: int
) -> None:
    place = settled_at((values,), window, least=least, most=most)
    if place is not None:
        assert least <= place <= most
        assert place + window <= len(values)
        assert is_at_rest(values[place : place + window])


@given(st.floats(-1e6, 1e6), st.integers(0, 30))
def test_a_flat_line_has_no_trend(level: float, count: int) -> None:
    assert trend_ratio([level] * count) == 0.0


@pytest.mark.parametrize(("slope", "ratio"), [(2.0, math.inf), (-2.0, -math.inf)])
def test_a_straight_climb_has_no_noise_to_hide_in(slope: float, ratio: float) -> None:
    assert trend_ratio([slope * place for place in range(9)]) == ratio


def test_the_trend_is_that_of_the_textbook() -> None:
    """Worked by hand: the mean is 0.875, the slope 0.55, and 5 the sum of squares of the index."""
    values = [0.0, 1.0, 0.5, 2.0]
    slope, residual = 0.55, sum((v - 0.875 - 0.55 * (p - 1.5)) ** 2 for p, v in enumerate(values))
    assert trend_ratio(values) == pytest.approx(slope / math.sqrt(residual / 2 / 5))
