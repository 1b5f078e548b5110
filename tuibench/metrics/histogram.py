"""Latency histograms in the HDR layout: microseconds, three significant digits.

The bucket layout is HdrHistogram's with unit 1 µs (http://hdrhistogram.org; the `hdrh` package is the
reference it is tested against), kept sparse: a run has a few hundred distinct buckets, and merging,
shipping and reading them must be cheap at every tick.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

import msgspec

from tuibench.model.sample import Latency

SUB_BUCKET_BITS = 11
HALF = 1 << (SUB_BUCKET_BITS - 1)
US_PER_MS = 1000.0


def bucket_of(value_us: int) -> int:
    """The index of a value's bucket; values below 2048 µs have a bucket of their own."""
    shift = value_us.bit_length() - SUB_BUCKET_BITS
    if shift <= 0:
        return value_us
    return (shift << (SUB_BUCKET_BITS - 1)) + (value_us >> shift)


def highest_in(bucket: int) -> int:
    """The largest value in µs that falls into a bucket."""
    if bucket < 2 * HALF:
        return bucket
    shift = (bucket >> (SUB_BUCKET_BITS - 1)) - 1
    return ((bucket - (shift << (SUB_BUCKET_BITS - 1)) + 1) << shift) - 1


class Histogram(msgspec.Struct):
    """Counts by bucket, with exact count, sum, minimum and maximum in µs. Adding is associative."""

    counts: dict[int, int] = {}
    count: int = 0
    sum_us: int = 0
    min_us: int = 0
    max_us: int = 0

    @classmethod
    def of(cls, values_us: Sequence[int]) -> "Histogram":
        """The histogram of some raw values."""
        if not values_us:
            return cls()
        counts: dict[int, int] = {}
        for value, times in Counter(values_us).items():
            bucket = bucket_of(value)
            counts[bucket] = counts.get(bucket, 0) + times
        return cls(counts, len(values_us), sum(values_us), min(values_us), max(values_us))

    def add(self, other: "Histogram") -> None:
        """Takes the other's counts in."""
        if not other.count:
            return
        if self.count:
            for bucket, times in other.counts.items():
                self.counts[bucket] = self.counts.get(bucket, 0) + times
        else:
            self.counts = dict(other.counts)
        self.min_us = min(self.min_us, other.min_us) if self.count else other.min_us
        self.max_us = max(self.max_us, other.max_us)
        self.count += other.count
        self.sum_us += other.sum_us

    def percentiles(self, wanted: Iterable[float]) -> list[float]:
        """The values in µs at the given percentiles, in the order of the arguments.

        The value at p is the highest of the first bucket whose cumulated count reaches floor(n·p/100 + 0.5),
        at least one, as in HdrHistogram and sysbench; never above the exact maximum. Zeros when empty.
        """
        targets = [max(1, int(self.count * p / 100 + 0.5)) for p in wanted]
        buckets = sorted(self.counts)
        cumulated = list(accumulate(map(self.counts.__getitem__, buckets)))
        places = [bisect_left(cumulated, target) for target in targets]
        return [
            float(min(highest_in(buckets[place]), self.max_us)) if place < len(buckets) else 0.0
            for place in places
        ]

    def latency(self) -> Latency | None:
        """The figures of a sample or a summary in milliseconds; None when nothing was recorded."""
        if not self.count:
            return None
        p50, p95, p99, p999 = (us / US_PER_MS for us in self.percentiles((50, 95, 99, 99.9)))
        return Latency(
            count=self.count,
            min=self.min_us / US_PER_MS,
            avg=self.sum_us / self.count / US_PER_MS,
            p50=p50,
            p95=p95,
            p99=p99,
            p999=p999,
            max=self.max_us / US_PER_MS,
        )


def merged(histograms: Iterable[Histogram]) -> Histogram:
    """The sum of several histograms, which stay as they are."""
    total = Histogram()
    for histogram in histograms:
        total.add(histogram)
    return total
