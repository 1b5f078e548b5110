"""The shape of an interval's latencies in few numbers: counts in buckets that grow evenly on a log scale.

Fine enough to be looked at, coarse enough to be kept for every second: eight buckets a decade, each a third
wider than the one below, from 10 µs to 10 s. Percentiles are never read from them.
"""

from bisect import bisect_left
from collections.abc import Sequence

from tuibench.metrics.histogram import Histogram, highest_in
from tuibench.model.sample import Shape

PER_DECADE = 8
LOWEST_US, DECADES = 10.0, 6
BUCKETS = PER_DECADE * DECADES
UPPER_US = tuple(LOWEST_US * 10 ** ((bucket + 1) / PER_DECADE) for bucket in range(BUCKETS))
"""Where each bucket ends; what is slower still is counted in the last one."""


def bucket_of_us(value_us: float) -> int:
    """The bucket of a latency."""
    return min(bisect_left(UPPER_US, value_us), BUCKETS - 1)


def shape(histogram: Histogram) -> Shape | None:
    """The shape of a histogram; None when nothing was recorded."""
    counts: dict[int, int] = {}
    for fine, times in histogram.counts.items():
        bucket = bucket_of_us(highest_in(fine))
        counts[bucket] = counts.get(bucket, 0) + times
    if not counts:
        return None
    first, last = min(counts), max(counts)
    return Shape(first, tuple(counts.get(bucket, 0) for bucket in range(first, last + 1)))


def spread_out(shape: Shape | None) -> Sequence[int]:
    """A count for every bucket; empty where nothing is known."""
    if shape is None:
        return ()
    before = (0,) * shape.first
    return (*before, *shape.counts, *(0,) * (BUCKETS - len(before) - len(shape.counts)))
