"""Slots: the additive figures of one tick each."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from tuibench.model.histogram import US_PER_MS, Histogram, bucket_upper_bound, merge_histograms, rank_of
from tuibench.model.measurements.operation_cost import ResourceUse

P95 = 0.95


class Slot(NamedTuple):
    """One tick, which ends `end_seconds` into the run and is `seconds` long.

    `latency` is None if only `p95_ms` is known (a record); both are None if no transaction finished.
    `log_fsyncs` is None if the server does not count them. `queries` is None if a load is measured: its
    transactions are used instead. `use` is the use of server and client resources by its operations.
    `foreign_cpu` is the percentage of this host's CPU that was lost to other programs, other guests or a CPU
    limit; None if unknown.
    """

    end_seconds: float
    seconds: float
    transactions: float
    latency: Histogram | None = None
    p95_ms: float | None = None
    log_fsyncs: float | None = None
    queries: float | None = None
    use: ResourceUse | None = None
    foreign_cpu: float | None = None

    @property
    def start_seconds(self) -> float:
        return self.end_seconds - self.seconds

    @property
    def tps(self) -> float:
        return self.transactions / self.seconds

    @property
    def throughput(self) -> float:
        """The throughput that decides whether the load has settled: queries per second if known."""
        return (self.transactions if self.queries is None else self.queries) / self.seconds

    @property
    def own_p95_ms(self) -> float | None:
        """The slot's own p95."""
        if self.p95_ms is not None or self.latency is None or not self.latency.count:
            return self.p95_ms
        return self.latency.percentiles((100 * P95,))[0] / US_PER_MS


class Ranks:
    """The merged latencies of a window, for values at any rank."""

    def __init__(self, histograms: Sequence[Histogram]) -> None:
        whole = merge_histograms(histograms)
        self.count = whole.count
        self._buckets = sorted(whole.counts)
        self._cumulated = list(accumulate(whole.counts[bucket] for bucket in self._buckets))

    def bucket_at(self, share: float) -> int:
        """The bucket of the value below which a share (0 to 1) of all latencies lies."""
        rank = min(rank_of(100 * share, self.count), self.count)
        return self._buckets[bisect_left(self._cumulated, rank)]

    def at_ms(self, share: float) -> float:
        """That value in milliseconds."""
        return bucket_upper_bound(self.bucket_at(share)) / US_PER_MS


def count_up_to(histogram: Histogram, bucket: int) -> int:
    """The number of latencies in this bucket or below it."""
    return sum(times for other, times in histogram.counts.items() if other <= bucket)
