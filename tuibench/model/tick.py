"""A tick: counts and histograms of an interval, which add up.

Latency histograms in the HDR layout: microseconds, three significant digits.

The bucket layout is HdrHistogram's with unit 1 µs (http://hdrhistogram.org; the `hdrh` package is the
reference it is tested against), stored sparsely: a run has a few hundred distinct buckets, and merging,
sending and reading them must be cheap at every tick.

Coarse counts are the shape of latencies on a screen: counts in buckets of equal width on a log scale, eight
per decade, each a third wider than the one below, from 10 µs to 10 s. Percentiles are never computed from
them.

Tick: what was measured between two readings, in a form that adds up.

A tick holds counts and histograms; rates and percentiles are computed when a figure is read
(`metrics.figures`). So the same operation adds up workers to a report, hosts to a load, and ticks to a line,
a window, a level or a run, and no figure depends on how the time was divided into ticks.

The keys of `sums`, with their unit; a source that was not read in the tick has none of its keys:

    completed, failed, reads, queries, error.1213, ...   the load's counts
    headline                                             the headline figure times the seconds
    server.seconds, server.completed, server.queries     what the server's counters were counted over
    Questions, Innodb_os_log_fsyncs, ...                 growth of the server's status counters
    host.seconds, host.busy, host.server_cpu, ...        the server's host, in seconds, bytes or requests
    host.unseen.busy, ...                                its part while the server's process was not found
    client.seconds, ...                                  tuibench's own host, if it is another one
    own.completed, ...                                   the load's, in a tick of all of a server's traffic

`arrears` are sums of work that was done before the tick and reported in it, by a worker that had been
silent: not part of the tick's own figures, but of those of the ticks together.

`levels` are values at the end of the tick: threads, backlog, Threads_running, host.memory_used. `peaks` are
the largest values in the tick: lag_seconds, worker_cpu. `hists` are latencies in µs: response, service,
trx.NAME, stmt.NAME, login, wait. `missing` says why something was not measured; it is never a zero.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TypeVar

import msgspec

SUB_BUCKET_BITS = 11
HALF = 1 << (SUB_BUCKET_BITS - 1)
US_PER_MS = 1000.0


def bucket_index(value_us: int) -> int:
    """The index of a value's bucket; every value below 2048 µs has its own bucket."""
    shift = value_us.bit_length() - SUB_BUCKET_BITS
    if shift <= 0:
        return value_us
    return (shift << (SUB_BUCKET_BITS - 1)) + (value_us >> shift)


def bucket_upper_bound(bucket: int) -> int:
    """The largest value in µs of a bucket."""
    if bucket < 2 * HALF:
        return bucket
    shift = (bucket >> (SUB_BUCKET_BITS - 1)) - 1
    return ((bucket - (shift << (SUB_BUCKET_BITS - 1)) + 1) << shift) - 1


def rank_of(percentile: float, count: int) -> int:
    """The rank of a percentile among `count` values: ceil(p/100 · n), at least 1, as in HdrHistogram.

    The next smaller float is used, so that 99.9 % of 1000 is rank 999 despite rounding.
    """
    return max(1, math.ceil(math.nextafter(percentile, 0) * count / 100))


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Latency of `count` operations, in milliseconds."""

    count: int
    min: float
    avg: float
    p50: float
    p95: float
    p99: float
    p999: float
    max: float


class Histogram(msgspec.Struct, array_like=True):
    """Counts by bucket, with exact count, sum, minimum and maximum in µs. Adding is associative."""

    counts: dict[int, int] = {}
    count: int = 0
    sum_us: int = 0
    min_us: int = 0
    max_us: int = 0

    @classmethod
    def of(cls, values_us: Sequence[int]) -> "Histogram":
        """The histogram of raw values."""
        if not values_us:
            return cls()
        counts: dict[int, int] = {}
        for value, times in Counter(values_us).items():
            bucket = bucket_index(value)
            counts[bucket] = counts.get(bucket, 0) + times
        return cls(counts, len(values_us), sum(values_us), min(values_us), max(values_us))

    def add(self, other: "Histogram") -> None:
        """Add the counts of another histogram."""
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

    def __add__(self, other: "Histogram") -> "Histogram":
        return merge_histograms((self, other))

    def percentiles(self, wanted: Iterable[float]) -> list[float]:
        """The values in µs at the given percentiles, in the order of the arguments.

        The value at p is the highest of the first bucket whose cumulated count reaches `rank_of(p, n)`;
        never above the exact maximum. Zeros when empty.
        """
        targets = [rank_of(p, self.count) for p in wanted]
        buckets = sorted(self.counts)
        cumulated = list(accumulate(map(self.counts.__getitem__, buckets)))
        places = [bisect_left(cumulated, target) for target in targets]
        return [
            float(min(bucket_upper_bound(buckets[place]), self.max_us)) if place < len(buckets) else 0.0
            for place in places
        ]

    def latency(self) -> Latency | None:
        """The latency figures in milliseconds; None for an empty histogram."""
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


def with_fewer_digits(histogram: Histogram, bits: int) -> Histogram:
    """The histogram with buckets of `bits` significant bits: a value rises by a 2^(1 - bits)-th at most."""
    counts: dict[int, int] = {}
    for bucket, times in histogram.counts.items():
        value = bucket_upper_bound(bucket)
        shift = max(0, value.bit_length() - bits)
        rounded = bucket_index((((value >> shift) + 1) << shift) - 1)
        counts[rounded] = counts.get(rounded, 0) + times
    return Histogram(counts, histogram.count, histogram.sum_us, histogram.min_us, histogram.max_us)


def merge_histograms(histograms: Iterable[Histogram]) -> Histogram:
    """The sum of several histograms, which are not changed."""
    total = Histogram()
    for histogram in histograms:
        total.add(histogram)
    return total


def fold_histograms(totals: dict[str, Histogram], more: Mapping[str, Histogram]) -> None:
    """Adds histograms to those of the same names."""
    for name, histogram in more.items():
        totals.setdefault(name, Histogram()).add(histogram)


PER_DECADE = 8
LOWEST_US, DECADES = 10.0, 6
BUCKETS = PER_DECADE * DECADES
UPPER_US = tuple(LOWEST_US * 10 ** ((bucket + 1) / PER_DECADE) for bucket in range(BUCKETS))
"""The upper bound of each bucket; slower values are counted in the last one."""


def coarse_bucket(value_us: float) -> int:
    """The bucket of a latency."""
    return min(bisect_left(UPPER_US, value_us), BUCKETS - 1)


def coarse_counts(histogram: Histogram) -> Sequence[int]:
    """The count in each of the `BUCKETS` coarse buckets; empty for an empty histogram."""
    if not histogram.count:
        return ()
    counts = [0] * BUCKETS
    for fine, times in histogram.counts.items():
        counts[coarse_bucket(bucket_upper_bound(fine))] += times
    return counts


RESPONSE, SERVICE, LOGIN, WAIT = "response", "service", "login", "wait"
TRANSACTION, STATEMENT = "trx.", "stmt."
"""Prefixes of histograms."""
ERROR = "error."
"""Prefix of the counts of failed statements, by the server's error code."""
SERVER, HOST, CLIENT, OWN = "server.", "host.", "client.", "own."
"""Prefixes of the sources."""
UNSEEN = "unseen."
"""Prefix, within a host, of what was measured while the server's process was not found."""
Value = TypeVar("Value")


class NamedHistograms:
    """What has latencies by the names above: a tick, a worker's report, several of them."""

    __slots__ = ()
    hists: dict[str, Histogram]

    def hist(self, name: str) -> Histogram:
        """A histogram; an empty one if it is missing."""
        return self.hists.get(name) or Histogram()

    def named(self, prefix: str) -> dict[str, Histogram]:
        """The histograms whose names have a prefix, without it."""
        return {name[len(prefix) :]: self.hists[name] for name in self.hists if name.startswith(prefix)}


class Tick(NamedHistograms, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, dict=True):
    """One tick, or several added up; see the header for the keys.

    `end` is in seconds since the start of the measured load, 0 or less in a warm-up. `seconds` is the
    measured time of the transactions: the load's, or that of the server's readings for its traffic.
    """

    end: float = 0.0
    seconds: float = 0.0
    sums: dict[str, float] = {}
    arrears: dict[str, float] = {}
    levels: dict[str, float] = {}
    peaks: dict[str, float] = {}
    hists: dict[str, Histogram] = {}
    missing: dict[str, str] = {}

    def __add__(self, other: "Tick") -> "Tick":
        return total_tick((self, other))

    @property
    def start(self) -> float:
        """The beginning of the tick, in seconds since the start of the measured load."""
        return self.end - self.seconds

    @property
    def is_traffic(self) -> bool:
        """True for all of a server's traffic, False for a load's own."""
        return "threads" not in self.levels or OWN + "seconds" in self.sums

    @cached_property
    def quantiles(self) -> dict[tuple[str, float], float]:
        """The quantiles in ms that were read so far, by histogram and share: a tick does not change."""
        return {}

    @property
    def own(self) -> "Tick":
        """The load's own tick, in a tick of all of a server's traffic."""
        sums = self.counts(OWN)
        return Tick(
            end=self.end,
            seconds=sums.pop("seconds", 0.0),
            sums=sums,
            levels=self.levels,
            peaks=self.peaks,
            hists=self.named(OWN),
        )

    def moved(self, source: str, to: str) -> "Tick":
        """What one source measured, under the prefix of another one."""

        def renamed(values: Mapping[str, Value]) -> dict[str, Value]:
            found = (name for name in values if name.startswith(source))
            return {to + name[len(source) :]: values[name] for name in found}

        return Tick(
            end=self.end,
            seconds=self.seconds,
            sums=renamed(self.sums),
            levels=renamed(self.levels),
            missing=renamed(self.missing),
        )

    def counts(self, prefix: str) -> dict[str, float]:
        """The sums of a prefix, by the rest of their names."""
        return {name[len(prefix) :]: value for name, value in self.sums.items() if name.startswith(prefix)}

    @property
    def errors(self) -> float:
        """Failed statements, of all codes."""
        return sum(self.counts(ERROR).values())


def total_tick(ticks: Iterable[Tick]) -> Tick:
    """The sum of ticks in any order: levels are those of the latest one that has them."""
    end = seconds = 0.0
    arrears: dict[str, float] | None = None
    sums: dict[str, float] = {}
    peaks: dict[str, float] = {}
    hists: dict[str, Histogram] = {}
    levels: dict[str, float] = {}
    missing: dict[str, str] = {}
    for tick in sorted(ticks, key=_end):
        end = tick.end
        seconds += tick.seconds
        for name, value in tick.sums.items():
            sums[name] = sums.get(name, 0) + value
        if arrears is None:
            arrears = tick.arrears
        else:
            for name, value in tick.arrears.items():
                sums[name] = sums.get(name, 0) + value
        for name, value in tick.peaks.items():
            peaks[name] = max(peaks.get(name, value), value)
        fold_histograms(hists, tick.hists)
        levels.update(tick.levels)
        missing.update(tick.missing)
    return Tick(
        end=end,
        seconds=seconds,
        sums=sums,
        arrears=arrears or {},
        levels=levels,
        peaks=peaks,
        hists=hists,
        missing=missing,
    )


def _end(tick: Tick) -> float:
    return tick.end


def unseen_sums(host: Mapping[str, float]) -> dict[str, float]:
    """The sums of a host, without prefix, that its server's CPU is compared with, if that is unknown."""
    if "server_cpu" in host:
        return {}
    compared = ("completed", "core_seconds", "busy", "total", "tuibench_cpu")
    return {UNSEEN + name: host[name] for name in compared if name in host}


def prefixed(prefix: str, values: Mapping[str, float]) -> dict[str, float]:
    """The values under the prefix of their source."""
    return {prefix + name: value for name, value in values.items()}
