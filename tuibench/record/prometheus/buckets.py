"""Latency histograms in Prometheus' classic form: fixed bounds in seconds, cumulated counts, exact sum.

Six bounds to a decade keep a quantile that is interpolated between two of them within a third of the truth,
and mostly within a tenth. They never change, so that runs can be added up and compared.
"""

from bisect import bisect_left
from itertools import accumulate

from tuibench.metrics.histogram import Histogram, highest_in

_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
_DECADES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
BOUNDS = (*(round(step * decade, 6) for decade in _DECADES for step in _STEPS), 10.0, 15.0, 30.0, 60.0)
"""Upper bounds in seconds, inclusive, from 100 µs to a minute."""

_BOUNDS_US = tuple(round(bound * 1e6) for bound in BOUNDS)

Buckets = list[tuple[str, float]]


def cumulated(histogram: Histogram) -> Buckets:
    """The count up to each bound, `+Inf` last."""
    counts = [0] * (len(BOUNDS) + 1)
    for bucket, times in histogram.counts.items():
        counts[bisect_left(_BOUNDS_US, highest_in(bucket))] += times
    bounds = [*(f"{bound:g}" for bound in BOUNDS), "+Inf"]
    return [(bound, float(count)) for bound, count in zip(bounds, accumulate(counts), strict=True)]


def sum_seconds(histogram: Histogram) -> float:
    """All latencies added up."""
    return histogram.sum_us / 1e6
