"""Steadiness: percentiles of single seconds, and stalls."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuibench.metrics.inference.steadiness import Tick, steadiness
from tuibench.model.measurements.steadiness import Stall


def ticks(rates: list[float], seconds: float = 1.0) -> list[Tick]:
    return [Tick(seconds * (place + 1), seconds, rate * seconds) for place, rate in enumerate(rates)]


def test_percentiles_are_those_of_single_seconds() -> None:
    found = steadiness(ticks([float(rate) for rate in range(1, 201)]))
    assert found is not None
    assert (found.p1, found.p50, found.p99) == (2.0, 100.0, 198.0)


def test_short_ticks_are_added_up_to_seconds() -> None:
    found = steadiness(ticks([0.0, 200.0] * 20, seconds=0.5))
    assert found is not None
    assert (found.p1, found.p99, found.variation) == (100.0, 100.0, 0.0)


def test_the_longest_stall_is_named() -> None:
    stalls = (Stall(10.2, 12.9), Stall(22.0, 23.0))
    found = steadiness(ticks([100.0] * 24), stalls)
    assert found is not None
    assert found.stalls == stalls
    assert found.longest_stall_seconds == pytest.approx(2.7)


def test_a_steady_run_has_no_variation() -> None:
    found = steadiness(ticks([100.0] * 5))
    assert found is not None
    assert (found.variation, found.stalls, found.longest_stall_seconds) == (0.0, (), 0.0)


@pytest.mark.parametrize("rates", [[], [0.0, 0.0]])
def test_without_throughput_there_is_nothing_to_vary(rates: list[float]) -> None:
    found = steadiness(ticks(rates))
    assert found is None or (found.variation is None and found.stalls == ())


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=100), st.sampled_from([0.1, 0.5, 1.0, 5.0]))
def test_figures_are_in_order(rates: list[float], seconds: float) -> None:
    found = steadiness(ticks(rates, seconds))
    if found is None:
        assert len(rates) * seconds < 1
        return
    assert found.p1 <= found.p50 <= found.p99
