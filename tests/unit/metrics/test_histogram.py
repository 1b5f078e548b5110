"""Our sparse histogram against the reference implementation and against plain sorting."""

import msgspec
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from tuibench.metrics.histogram import Histogram, bucket_of, highest_in, merged

latencies_us = st.integers(min_value=0, max_value=3_000_000_000)
some_latencies = st.lists(latencies_us, max_size=200)
PERCENTILES = (1, 50, 90, 95, 99, 99.9, 100)


@given(st.lists(latencies_us, min_size=1, max_size=200))
def test_percentiles_are_those_of_the_reference(values: list[int]) -> None:
    reference = HdrHistogram(1, 3_600_000_000, 3)
    for value in values:
        reference.record_value(value)
    ours = Histogram.of(values)
    expected = [min(reference.get_value_at_percentile(p), max(values)) for p in PERCENTILES]
    assert ours.percentiles(PERCENTILES) == expected


@given(latencies_us)
def test_a_bucket_holds_its_values_to_three_digits(value: int) -> None:
    highest = highest_in(bucket_of(value))
    assert value <= highest <= value * 1.001 + 1
    assert bucket_of(highest) == bucket_of(value)
    assert bucket_of(highest + 1) == bucket_of(value) + 1


@given(some_latencies, some_latencies, some_latencies)
def test_merging_is_associative_and_loses_nothing(a: list[int], b: list[int], c: list[int]) -> None:
    left = merged([merged([Histogram.of(a), Histogram.of(b)]), Histogram.of(c)])
    right = merged([Histogram.of(a), merged([Histogram.of(b), Histogram.of(c)])])
    assert left == right == Histogram.of(a + b + c)


def test_percentiles_come_back_in_the_order_asked() -> None:
    histogram = Histogram.of(list(range(1, 101)))
    assert histogram.percentiles((99, 50)) == [99.0, 50.0]


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
