"""The coarse shape of latencies: nothing lost, everything where it belongs."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuibench.model.histogram import (
    BUCKETS,
    LOWEST_US,
    PER_DECADE,
    UPPER_US,
    Histogram,
    coarse_bucket,
    coarse_counts,
)

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
