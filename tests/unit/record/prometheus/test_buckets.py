"""Histograms in fixed buckets against the latencies they were made of."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tuibench.model.histogram import Histogram, bucket_index, bucket_upper_bound
from tuibench.record.prometheus.page import BOUNDS, cumulated, sum_seconds

LATENCIES = st.lists(st.integers(0, 200_000_000), max_size=40)


def test_bounds_are_six_to_a_decade_and_rise() -> None:
    assert all(low < high <= 2 * low for low, high in pairwise(BOUNDS))
    assert (BOUNDS[0], BOUNDS[-1]) == (0.0001, 60.0)


@given(LATENCIES)
def test_a_latency_counts_in_every_bucket_that_reaches_it(latencies_us: list[int]) -> None:
    histogram = Histogram.of(latencies_us)
    told = [bucket_upper_bound(bucket_index(latency)) for latency in latencies_us]
    found = cumulated(histogram)
    assert [count for _, count in found[:-1]] == [
        sum(latency <= bound * 1e6 * (1 + 1e-12) for latency in told) for bound in BOUNDS
    ]
    assert dict(found)["+Inf"] == len(latencies_us)
    assert sum_seconds(histogram) == sum(latencies_us) / 1e6


def test_a_bound_holds_its_own_value() -> None:
    found = dict(cumulated(Histogram.of([100, 101, 1500, 1501])))
    assert (found["0.0001"], found["0.00015"], found["0.0015"], found["0.002"]) == (1, 2, 3, 4)
