"""Our sparse histogram against the reference implementation and against plain sorting."""

import math
from fractions import Fraction

import msgspec
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from tuibench.model.histogram import Histogram, bucket_index, bucket_upper_bound, merge_histograms, rank_of

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
