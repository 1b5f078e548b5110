"""Intervals that hold the truth as often as they say, and steps that are found, with the right sign."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.metrics.noise import LEVEL, ar1, slots, with_latencies
from tuibench.metrics.bootstrap import Parts, autocorrelation, block_length, interval, spread
from tuibench.metrics.effect import compare, levels, p95_of
from tuibench.metrics.histogram import merged
from tuibench.metrics.slots import Ranks, Slot
from tuibench.metrics.student import t_95
from tuibench.model.effect import Comparison, Figure

WINDOW = 12


def of(figure: Figure, before: list[Slot], after: list[Slot]) -> Comparison:
    return next(one for one in compare(before, after) if one.figure is figure)


def coverage(phi: float, window: int) -> float:
    """How often the interval of TPS holds the true difference of none, in a few thousand slots."""
    rng, held, runs = random.Random(7), 0, 300 * WINDOW // window
    for _ in range(runs):
        series = ar1(rng, 2 * window + 2, phi, 40.0)
        before = Parts(series[:window], [1.0] * window)
        after = Parts(series[window + 2 :], [1.0] * window)
        redrawn = spread(before, after)
        deltas = [new - old for old, new in zip(redrawn.before, redrawn.after, strict=True)]
        low, high = interval(after.ratio - before.ratio, deltas, redrawn.scale)
        held += low <= 0 <= high
    return held / runs


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("window", [WINDOW, 24])
def test_the_interval_holds_the_truth_as_often_as_it_says(phi: float, window: int) -> None:
    assert 0.90 <= coverage(phi, window) <= 0.99


def test_the_p95_interval_holds_the_truth_as_often_as_it_says() -> None:
    rng, held, runs = random.Random(5), 0, 100
    for _ in range(runs):
        before, after = (with_latencies(rng, slots([LEVEL] * WINDOW), 9_000, 150) for _ in range(2))
        held += not of(Figure.P95, before, after).differs
    assert 0.90 <= held / runs <= 1.0


@pytest.mark.parametrize(("factor", "sign"), [(1.4, 1), (0.7, -1)])
def test_a_step_is_found_with_its_sign_and_size(factor: float, sign: int) -> None:
    rng, hits = random.Random(1), 0
    for _ in range(40):
        before = slots(ar1(rng, WINDOW, 0.3, 40.0))
        after = slots(ar1(rng, WINDOW, 0.3, 40.0 * factor, LEVEL * factor))
        found = of(Figure.TPS, before, after)
        assert found.differs
        assert found.delta * sign > 0
        assert found.percent_low is not None
        assert found.percent_high is not None
        hits += found.percent_low <= 100 * (factor - 1) <= found.percent_high
    assert hits >= 36


def test_a_quicker_p95_is_found() -> None:
    rng = random.Random(2)
    before = with_latencies(rng, slots([LEVEL] * WINDOW), 20_000, 150)
    after = with_latencies(rng, slots([LEVEL] * WINDOW), 10_000, 150)
    found = of(Figure.P95, before, after)
    assert found.differs
    assert found.percent == pytest.approx(-50, abs=6)
    assert found.low <= found.delta <= found.high < 0


def test_p95_is_that_of_the_merged_histograms() -> None:
    rng = random.Random(4)
    window = with_latencies(rng, slots([LEVEL] * 5), 9_000, 200)
    whole = merged(slot.latency for slot in window if slot.latency is not None)
    assert p95_of(window) == pytest.approx(whole.percentiles((95,))[0] / 1000, rel=2e-3)


def test_without_histograms_p95_is_weighted_by_transactions() -> None:
    window = [Slot(1.0, 1.0, 300, p95_ms=10.0), Slot(2.0, 1.0, 100, p95_ms=30.0)]
    assert p95_of(window) == pytest.approx(15.0)
    assert of(Figure.P95, window * 6, window * 6).differs is False


def test_fewer_fsyncs_for_each_transaction_are_found() -> None:
    found = of(Figure.FSYNCS, slots([LEVEL] * WINDOW, fsyncs=1.02), slots([LEVEL] * WINDOW, fsyncs=0.0))
    assert found.before == pytest.approx(1.02)
    assert found.after == 0.0
    assert found.percent == pytest.approx(-100)
    assert found.differs


def test_from_nothing_there_is_no_relative_change() -> None:
    found = of(Figure.FSYNCS, slots([LEVEL] * WINDOW, fsyncs=0.0), slots([LEVEL] * WINDOW, fsyncs=0.5))
    assert found.percent is None
    assert found.differs


def test_what_was_not_measured_is_not_compared() -> None:
    window = slots([LEVEL] * WINDOW, fsyncs=None)
    assert [one.figure for one in compare(window, window)] == [Figure.TPS]
    assert levels(window) == {Figure.TPS: LEVEL}


def test_a_standstill_can_be_compared() -> None:
    found = of(Figure.TPS, slots([0.0] * WINDOW), slots([LEVEL] * WINDOW))
    assert found.percent is None
    assert found.differs
    assert not of(Figure.TPS, slots([0.0] * WINDOW), slots([0.0] * WINDOW)).differs


rates = st.lists(st.floats(0, 1e6), min_size=3, max_size=30)


@given(rates, rates)
def test_the_estimate_is_inside_its_interval(before: list[float], after: list[float]) -> None:
    for found in compare(slots(before), slots(after)):
        assert found.low <= found.delta <= found.high
        assert found.delta == pytest.approx(found.after - found.before)
        if found.differs:
            assert found.low > 0 or found.high < 0


@given(rates)
def test_a_window_does_not_differ_from_itself(rates: list[float]) -> None:
    assert not any(found.differs for found in compare(slots(rates), slots(rates)))


def test_the_same_windows_give_the_same_interval() -> None:
    rng = random.Random(9)
    before, after = slots(ar1(rng, WINDOW, 0.3, 40.0)), slots(ar1(rng, WINDOW, 0.3, 40.0))
    assert compare(before, after) == compare(before, after)


# The parts


def test_more_alike_neighbours_make_longer_blocks() -> None:
    lengths = [block_length(phi, 24) for phi in (0.0, 0.3, 0.6, 0.9)]
    assert lengths == sorted(lengths)
    assert (lengths[0], lengths[-1]) == (1, 8)


@given(st.lists(st.floats(0, 1e6), min_size=3, max_size=30))
def test_autocorrelation_stays_in_its_bounds(values: list[float]) -> None:
    assert 0 < autocorrelation(values, values) <= 0.9


def test_autocorrelation_of_long_series_is_found() -> None:
    series = ar1(random.Random(1), 4000, 0.6, 10.0)
    assert autocorrelation(series) == pytest.approx(0.6, abs=0.04)


@pytest.mark.parametrize(
    ("degrees", "t"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (10, 2.228), (30, 2.042), (1e6, 1.960)],
)
def test_students_t_is_that_of_the_tables(degrees: float, t: float) -> None:
    assert t_95(degrees) == pytest.approx(t, abs=0.006)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=200), st.floats(0, 1))
def test_ranks_agree_with_the_histogram(latencies: list[int], share: float) -> None:
    from tuibench.metrics.histogram import Histogram, highest_in

    histogram = Histogram.of(latencies)
    at = Ranks([histogram]).bucket_at(share)
    assert min(highest_in(at), histogram.max_us) == histogram.percentiles((100 * share,))[0]
