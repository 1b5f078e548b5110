"""Histograms: of workers, of statements, and coarse ones."""

import math
from fractions import Fraction
from itertools import pairwise

import msgspec
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from tuibench.model.tick import (
    BUCKETS,
    LOWEST_US,
    PER_DECADE,
    UPPER_US,
    Histogram,
    bucket_index,
    bucket_upper_bound,
    coarse_bucket,
    coarse_counts,
    merge_histograms,
    rank_of,
)
from tuibench.observe.statements import (
    CLIENT_SOURCE,
    MOST_ROWS,
    StatementSums,
    figures_between,
    statement_rows,
)

# Our sparse histogram against the reference implementation and against plain sorting.


latencies_us = st.integers(min_value=0, max_value=3_000_000_000)
some_latencies = st.lists(latencies_us, max_size=200)
PERCENTILES = (1, 50, 90, 95, 99, 99.9, 100)


@given(st.lists(latencies_us, min_size=1, max_size=200))
def test_percentiles_are_those_of_the_reference(values: list[int]) -> None:
    """The reference rounds the rank where HdrHistogram takes the ceiling: it gets whole ranks."""
    reference = HdrHistogram(1, 3_600_000_000, 3)
    for value in values:
        reference.record_value(value)
    ranks = [max(1, math.ceil(Fraction(str(p)) * len(values) / 100)) for p in PERCENTILES]
    expected = [
        min(reference.get_value_at_percentile(100 * rank / len(values)), max(values)) for rank in ranks
    ]
    assert Histogram.of(values).percentiles(PERCENTILES) == expected


@given(latencies_us)
def test_a_bucket_holds_its_values_to_three_digits(value: int) -> None:
    highest = bucket_upper_bound(bucket_index(value))
    assert value <= highest <= value * 1.001 + 1
    assert bucket_index(highest) == bucket_index(value)
    assert bucket_index(highest + 1) == bucket_index(value) + 1


@given(some_latencies, some_latencies, some_latencies)
def test_merging_is_associative_and_loses_nothing(a: list[int], b: list[int], c: list[int]) -> None:
    left = merge_histograms([merge_histograms([Histogram.of(a), Histogram.of(b)]), Histogram.of(c)])
    right = merge_histograms([Histogram.of(a), merge_histograms([Histogram.of(b), Histogram.of(c)])])
    assert left == right == Histogram.of(a + b + c)


def test_percentiles_come_back_in_the_order_asked() -> None:
    histogram = Histogram.of(list(range(1, 101)))
    assert histogram.percentiles((99, 50)) == [99.0, 50.0]


@pytest.mark.parametrize(
    ("percentile", "count", "rank"),
    [
        (95, 9, 9),
        (95, 20, 19),
        (95, 21, 20),
        (99, 12, 12),
        (99.9, 1000, 999),
        (50, 5, 3),
        (0, 5, 1),
        (100, 5, 5),
    ],
)
def test_the_rank_is_the_ceiling(percentile: float, count: int, rank: int) -> None:
    assert rank_of(percentile, count) == rank


def test_an_empty_histogram_has_no_latency() -> None:
    assert Histogram().latency() is None
    assert Histogram().percentiles((50,)) == [0.0]


def test_latency_is_in_milliseconds_with_exact_ends() -> None:
    latency = Histogram.of([1_500, 2_500, 1_000_003]).latency()
    assert latency is not None
    assert (latency.min, latency.max, latency.count) == (1.5, 1000.003, 3)
    assert latency.avg == (1_500 + 2_500 + 1_000_003) / 3 / 1000


@given(some_latencies)
def test_it_crosses_processes_unchanged(values: list[int]) -> None:
    histogram = Histogram.of(values)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(histogram), type=Histogram) == histogram


# The coarse shape of latencies: nothing lost, everything where it belongs.


LATENCIES = st.lists(st.integers(1, 60_000_000), min_size=1, max_size=200)


@given(LATENCIES)
def test_every_transaction_is_counted_once(values: list[int]) -> None:
    counts = coarse_counts(Histogram.of(values))
    assert len(counts) == BUCKETS
    assert sum(counts) == len(values)
    used = [bucket for bucket, count in enumerate(counts) if count]
    assert abs(used[0] - coarse_bucket(min(values))) <= 1
    assert abs(used[-1] - coarse_bucket(max(values))) <= 1


@pytest.mark.parametrize(
    ("value_us", "bucket"),
    [
        (1, 0),
        (10, 0),
        (13, 0),
        (14, 1),
        (100, PER_DECADE - 1),
        (1000, 2 * PER_DECADE - 1),
        (9e9, BUCKETS - 1),
    ],
)
def test_a_latency_has_its_bucket(value_us: float, bucket: int) -> None:
    assert coarse_bucket(value_us) == bucket


def test_buckets_grow_evenly_to_ten_seconds() -> None:
    steps = {round(after / before, 6) for before, after in pairwise(UPPER_US)}
    assert steps == {round(10 ** (1 / PER_DECADE), 6)}
    assert UPPER_US[-1] == pytest.approx(10_000_000)
    assert UPPER_US[0] > LOWEST_US


def test_nothing_recorded_has_no_shape() -> None:
    assert list(coarse_counts(Histogram())) == []


def test_a_shape_is_spread_over_all_buckets() -> None:
    counts = coarse_counts(Histogram.of([20] * 7 + [30] * 8))
    assert list(counts[:6]) == [0, 0, 7, 8, 0, 0]


# Statements between two moments.


def sums(calls: int, time_us: float, text: str = "q", **more: object) -> StatementSums:
    return StatementSums(text, "digest", calls, time_us, **more)  # type: ignore[arg-type]


def test_figures_are_differences() -> None:
    before = sums(10, 5000, rows_examined=100, lock_us=10.0, cpu_us=None, distribution={100: 9, 900: 1})
    after = sums(30, 9000, rows_examined=160, lock_us=50.0, cpu_us=700.0, distribution={100: 10, 900: 20})
    found = figures_between(before, after)
    assert found is not None
    assert (found.calls, found.total_ms, found.avg_ms) == (20, 4.0, 0.2)
    assert (found.rows_examined, found.cpu_ms) == (60, 0.7)
    assert found.lock_ms == pytest.approx(0.04)
    assert found.p95_ms == 0.9


def test_a_statement_that_is_new_began_at_nothing() -> None:
    found = figures_between(None, sums(4, 400, distribution={100: 4}))
    assert found is not None
    assert (found.calls, found.avg_ms, found.p95_ms) == (4, 0.1, 0.1)


def test_without_a_distribution_at_both_ends_there_is_no_percentile() -> None:
    found = figures_between(sums(1, 10), sums(2, 20, distribution={10: 2}))
    assert found is not None
    assert found.p95_ms is None


@pytest.mark.parametrize(("calls", "time_us"), [(10, 5000), (9, 6000), (11, 4000)])
def test_a_statement_not_executed_or_reset_has_no_figures(calls: int, time_us: float) -> None:
    assert figures_between(sums(10, 5000), sums(calls, time_us)) is None


def test_before_and_after_a_change_stand_side_by_side() -> None:
    first, changed = {"a": sums(0, 0), "b": sums(5, 50)}, {"a": sums(10, 1000), "b": sums(5, 50)}
    now = {"a": sums(30, 2000), "b": sums(6, 9050), "c": sums(1, 5, "new")}
    rows = {row.now.total_ms: row for row in statement_rows(first, changed, now)}
    assert list(rows) == [9.0, 1.0, 0.005]
    before = rows[1.0].before
    assert before is not None
    assert (before.calls, before.avg_ms) == (10, 0.1)
    assert rows[9.0].before is None
    assert rows[0.005].before is None


def test_the_loads_own_come_last_and_are_always_there() -> None:
    server = {str(number): sums(1, 1000 + number, str(number)) for number in range(MOST_ROWS + 5)}
    own = StatementSums("point_select", CLIENT_SOURCE, 100, 1e9)
    rows = statement_rows({}, None, {**server, "own": own})
    assert [len(rows), rows[0].text, rows[-1].text] == [MOST_ROWS + 1, str(MOST_ROWS + 4), "point_select"]
