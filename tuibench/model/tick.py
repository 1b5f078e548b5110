"""Ticks: what is counted in an interval of a run, such that intervals add up; and samples.

A tick holds counts and histograms. Rates and percentiles are computed when a figure is read
(`metrics.figures`). So the same operation adds up workers to a report, hosts to a load, and ticks to a line,
a window, a level or a run, and no figure depends on how the time was divided into ticks.

A sample is a tick with what does not add up: slow transactions, replicas, hosts.

Histograms have the bucket layout of HdrHistogram with unit 1 µs and three significant digits
(http://hdrhistogram.org; the `hdrh` package is the reference of the tests). They are stored sparsely: a run
has a few hundred distinct buckets, and merging, sending and reading them must be cheap at every tick.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from itertools import accumulate, groupby
from typing import TypeVar

import msgspec

from tuibench.model.cluster import LoadHost
from tuibench.model.findings import Culprit

SUB_BUCKET_BITS = 11
HALF = 1 << (SUB_BUCKET_BITS - 1)
US_PER_MS = 1000.0
MS_PER_SECOND = 1000.0


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


@cache
def rounded_bucket(bucket: int, bits: int) -> int:
    """The bucket of a bucket's largest value, raised to the end of its range of `bits` significant bits."""
    value = bucket_upper_bound(bucket)
    shift = max(0, value.bit_length() - bits)
    return bucket_index((((value >> shift) + 1) << shift) - 1)


def with_fewer_digits(histogram: Histogram, bits: int) -> Histogram:
    """The histogram with buckets of `bits` significant bits: a value rises by a 2^(1 - bits)-th at most."""
    counts: dict[int, int] = {}
    for bucket, times in histogram.counts.items():
        rounded = rounded_bucket(bucket, bits)
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
"""Coarse buckets have equal width on a log scale: each is a third wider than the one below."""
LOWEST_US, DECADES = 10.0, 6
BUCKETS = PER_DECADE * DECADES
UPPER_US = tuple(LOWEST_US * 10 ** ((bucket + 1) / PER_DECADE) for bucket in range(BUCKETS))
"""The upper bound of each bucket; slower values are counted in the last one."""


def coarse_bucket(value_us: float) -> int:
    return min(bisect_left(UPPER_US, value_us), BUCKETS - 1)


def coarse_counts(histogram: Histogram) -> Sequence[int]:
    """The count in each of the `BUCKETS` coarse buckets; empty for an empty histogram.

    They show the shape of the latencies on a screen. Percentiles are never computed from them.
    """
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
ROLLED_BACK = "rolled_back."
"""Prefix of the counts of intended rollbacks, by kind of transaction."""
SERVER, HOST, CLIENT, OWN = "server.", "host.", "client.", "own."
"""Prefixes of the sources."""
ANOMALY = "anomaly."
"""Prefix of the anomalies of isolation that a data set counts."""
TALLY = "tally."
"""Prefix of its other counts, to which they are relative."""
UNSEEN = "unseen."
"""Prefix, within a host, of what was measured while the server's process was not found."""
TRAFFIC_SUMS = frozenset(
    {
        "completed", "commits", "rollbacks", "queries", "questions", "reads", "writes", "others", "timed",
        "statement_ms", "thread_seconds",
    }
)  # fmt: skip
"""The counts of a server's traffic in the sums of a tick."""
Value = TypeVar("Value")


class NamedHistograms:
    """A tick or a report that has histograms of latencies by name."""

    __slots__ = ()
    hists: dict[str, Histogram]

    def hist(self, name: str) -> Histogram:
        """A histogram; an empty one if it is missing."""
        return self.hists.get(name) or Histogram()

    def named(self, prefix: str) -> dict[str, Histogram]:
        """The histograms whose names have a prefix, without it."""
        return {name[len(prefix) :]: self.hists[name] for name in self.hists if name.startswith(prefix)}

    def of_kind(self, name: str) -> Histogram:
        """The latencies of one kind of transaction; of all, where there is only one kind."""
        kinds = self.named(TRANSACTION)
        return kinds.get(name, Histogram()) if kinds else self.hist(RESPONSE)


class Tick(NamedHistograms, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, dict=True):
    """One tick, or several added up."""

    end: float = 0.0
    """Seconds since the start of the measured load; 0 or less in a warm-up."""
    seconds: float = 0.0
    """The measured time of the transactions: the load's, or that of the server's readings for its traffic."""
    sums: dict[str, float] = {}
    """Counts and times of the tick. A source that was not read in the tick has none of its keys:

        completed, failed, reads, queries, error.1213, ...   the load's counts
        headline                                             the headline figure times the seconds
        anomaly.lost_updates, ..., tally.updates, ...        counts of a data set that keeps some
        server.seconds, server.completed, server.queries     what the server's counters were counted over
        Questions, Innodb_os_log_fsyncs, ...                 growth of the server's status counters
        host.seconds, host.busy, host.server_cpu, ...        the server's host, in seconds, bytes or requests
        host.unseen.busy, ...                                its part while the server's process was not found
        client.seconds, ...                                  tuibench's own host, if it is another one
        own.completed, ...                                   the load's, in a tick of a server's whole traffic
        thread_seconds                                       running threads times seconds, of the same
        worker_cpu_seconds                                   CPU time of the load's workers
    """
    arrears: dict[str, float] = {}
    """Sums of work done before the tick and reported in it, by a worker that had been silent. They do not
    count in the figures of this tick, but in the sum of several ticks.
    """
    levels: dict[str, float] = {}
    """Values at the end of the tick: threads, backlog, Threads_running, host.memory_used."""
    peaks: dict[str, float] = {}
    """The largest values in the tick: lag_seconds, worker_cpu."""
    hists: dict[str, Histogram] = {}
    """Latencies in µs: response, service, trx.NAME, stmt.NAME, login, wait."""
    missing: dict[str, str] = {}
    """Why something was not measured."""

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
        """A cache of quantiles in ms, by histogram and share; a tick never changes."""
        return {}

    @property
    def own(self) -> "Tick":
        """The load's own tick, in a tick of all of a server's traffic."""
        sums = self.counts(OWN)
        return Tick(
            end=self.end,
            seconds=sums.pop("seconds", 0.0),
            sums=sums,
            arrears=without_prefix(OWN, self.arrears),
            levels=self.levels,
            peaks=self.peaks,
            hists=self.named(OWN),
        )

    @property
    def of_load(self) -> "Tick":
        """The tick with the load's own counts and latencies in place of those of the server's traffic; itself
        if it shows the load.
        """
        if OWN + "seconds" not in self.sums:
            return self
        own, others = self.own, (OWN, ERROR)
        rest = {
            name: value
            for name, value in self.sums.items()
            if name not in TRAFFIC_SUMS and not name.startswith(others)
        }
        return msgspec.structs.replace(
            self, seconds=own.seconds, sums=rest | own.sums, arrears=own.arrears, hists=own.hists
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
        return without_prefix(prefix, self.sums)

    @property
    def errors(self) -> float:
        """Failed statements, of all codes."""
        return sum(self.counts(ERROR).values())


class TickSum:
    """A sum of ticks that grows. The ticks are added in the order of time and are not changed."""

    def __init__(self, *, with_first_arrears: bool = False) -> None:
        """The arrears of the first tick belong to a time before it, so they stay apart, unless the sum is
        one `with_first_arrears`.
        """
        self._end = self._seconds = 0.0
        self._arrears: dict[str, float] | None = {} if with_first_arrears else None
        self._sums: dict[str, float] = {}
        self._levels: dict[str, float] = {}
        self._peaks: dict[str, float] = {}
        self._hists: dict[str, Histogram] = {}
        self._missing: dict[str, str] = {}

    def add(self, tick: Tick) -> None:
        """Add a tick: levels and missing values are those of the latest tick that has them."""
        self._end = tick.end
        self._seconds += tick.seconds
        self._add_counts(tick.sums)
        if self._arrears is None:
            self._arrears = tick.arrears
        else:
            self._add_counts(tick.arrears)
        for name, value in tick.peaks.items():
            self._peaks[name] = max(self._peaks.get(name, value), value)
        fold_histograms(self._hists, tick.hists)
        self._levels.update(tick.levels)
        self._missing.update(tick.missing)

    @property
    def tick(self) -> Tick:
        """The sum, which changes when another tick is added."""
        return Tick(
            end=self._end,
            seconds=self._seconds,
            sums=self._sums,
            arrears=self._arrears or {},
            levels=self._levels,
            peaks=self._peaks,
            hists=self._hists,
            missing=self._missing,
        )

    def _add_counts(self, counts: Mapping[str, float]) -> None:
        sums = self._sums
        for name, value in counts.items():
            sums[name] = sums.get(name, 0) + value


def total_tick(ticks: Iterable[Tick]) -> Tick:
    """The sum of ticks in any order."""
    total = TickSum()
    for tick in sorted(ticks, key=lambda tick: tick.end):
        total.add(tick)
    return total.tick


def unseen_sums(host: Mapping[str, float]) -> dict[str, float]:
    """The sums of a host, without prefix, if the CPU of its server is unknown in this tick; else empty. A
    comparison with the server's CPU leaves them out.
    """
    if "server_cpu" in host:
        return {}
    compared = ("completed", "core_seconds", "busy", "total", "tuibench_cpu")
    return {UNSEEN + name: host[name] for name in compared if name in host}


def without_prefix(prefix: str, values: Mapping[str, float]) -> dict[str, float]:
    """The values of a prefix, by the rest of their names."""
    return {name[len(prefix) :]: value for name, value in values.items() if name.startswith(prefix)}


def prefixed(prefix: str, values: Mapping[str, float]) -> dict[str, float]:
    """The values under the prefix of their source."""
    return {prefix + name: value for name, value in values.items()}


class TimedStatement(msgspec.Struct, frozen=True, array_like=True):
    """Consecutive statements of one name in a transaction."""

    name: str
    count: int
    ms: float
    """Their total time."""
    max_ms: float
    """The longest one."""
    error: int = 0
    """The server's error code of a failed statement, otherwise 0."""


class SlowTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """One of the slowest transactions of a sample, with its statements in order, over all attempts.

    In a closed loop, `response_ms` and `service_ms` are equal.
    """

    transaction: str
    response_ms: float
    """Measured from the scheduled start."""
    service_ms: float
    """Measured from the actual start."""
    statements: tuple[TimedStatement, ...]
    at_seconds: float = 0.0
    """The end of the sample."""

    @property
    def longest(self) -> TimedStatement | None:
        return max(self.statements, key=lambda each: each.ms, default=None)


MOST_SLOW = 3
"""Number of slow transactions kept per sample."""


def slowest_of(transactions: Iterable[SlowTransaction], most: int = MOST_SLOW) -> tuple[SlowTransaction, ...]:
    """The slowest transactions by response time, the slowest first."""
    return tuple(sorted(transactions, key=lambda each: -each.response_ms)[:most])


def grouped_statements(timed: Iterable[tuple[str, int, int]]) -> tuple[TimedStatement, ...]:
    """Group consecutive statements of one name. Each is a name, microseconds, and an error code or 0."""
    return tuple(
        TimedStatement(name, len(times), sum(times) / 1000, max(times) / 1000, error)
        for (name, error), each in groupby(timed, key=lambda one: (one[0], one[2]))
        if (times := [one[1] for one in each])
    )


class ReplicaSample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Lag of one replica."""

    name: str
    lag_seconds: float | None = None
    lag_bytes: int | None = None
    """What the source has written to its binary log after the replica's position."""
    is_running: bool = False
    """If False, the lag in seconds is unknown and grows."""
    state: str = ""
    """The applier's state, or the error that stopped it."""
    note: str = ""
    """The reason why the replica could not be read."""


class Sample(msgspec.Struct, frozen=True, tag="sample", kw_only=True, omit_defaults=True, dict=True):
    """One sample of a session.

    `load`, `traffic`, `server`, `host` and `client_host` are the tick for the figures of that source (see
    `metrics.figures`), None if it was not measured. A session has a load, or shows the server's traffic, or
    both.
    """

    number: int
    at: float
    late_ms: float
    """How late it was taken, after `elapsed_seconds`."""
    tick: Tick
    shows_traffic: bool = False
    slowest: tuple[SlowTransaction, ...] = ()
    """The slowest transactions; the record keeps the first one."""
    replicas: tuple[ReplicaSample, ...] = ()
    """The replicas that the session reads."""
    hosts: tuple[LoadHost, ...] = ()
    """The hosts that drive the load; empty for this host alone."""
    culprit: Culprit | None = None
    """The connection that has blocked most of the others for some seconds, and still does."""

    @property
    def elapsed_seconds(self) -> float:
        """The scheduled time, in seconds after the start of the load."""
        return self.tick.end

    @cached_property
    def load(self) -> Tick | None:
        """The session's own load."""
        if "threads" not in self.tick.levels:
            return None
        return self.tick.own if self.shows_traffic else self.tick

    @property
    def traffic(self) -> Tick | None:
        """The work of the server for all of its clients: COMMIT statements, and queries with those that are
        autocommitted.
        """
        return self.tick if self.shows_traffic and "completed" in self.tick.sums else None

    @property
    def server(self) -> Tick | None:
        return self.tick if "max_connections" in self.tick.levels else None

    @property
    def host(self) -> Tick | None:
        """The server's host."""
        return self.tick if HOST + "seconds" in self.tick.sums else None

    @cached_property
    def client_host(self) -> Tick | None:
        """This host, if the server is on another one."""
        return self.tick.moved(CLIENT, HOST) if CLIENT + "seconds" in self.tick.sums else None

    @cached_property
    def latency(self) -> Latency | None:
        """The figures of the response times."""
        return self.tick.hist(RESPONSE).latency()

    @cached_property
    def latencies(self) -> dict[str, Latency]:
        """The figures of the tick's histograms, by their names: response, stmt.NAME, ..."""
        found = {name: histogram.latency() for name, histogram in self.tick.hists.items()}
        return {name: latency for name, latency in found.items() if latency is not None}

    @property
    def host_note(self) -> str:
        """The reason why the server's host was not read, if it is another one."""
        return self.tick.missing.get("host", "")

    @property
    def is_host_remote(self) -> bool:
        """True if the server's host is another one, whose figures come over the network."""
        return self.host is not None and HOST + "local" in self.tick.missing

    @property
    def lag_seconds(self) -> float | None:
        """The largest lag of all replicas; None if none reports it."""
        return max((each.lag_seconds for each in self.replicas if each.lag_seconds is not None), default=None)

    @property
    def lag_bytes(self) -> int | None:
        """Like `lag_seconds`, in bytes of the binary log."""
        return max((each.lag_bytes for each in self.replicas if each.lag_bytes is not None), default=None)

    @property
    def shown_host(self) -> Tick | None:
        """The server's host; the client's host if the server's is not measured."""
        return self.client_host if self.host is None and not self.host_note else self.host

    @property
    def client(self) -> Tick | None:
        """The host that tuibench itself runs on."""
        return self.client_host if self.client_host is not None or self.is_host_remote else self.host

    @property
    def throughput(self) -> Tick | None:
        """Throughput and latency: those of the server's traffic if the session shows traffic, otherwise those
        of the load.
        """
        return self.traffic or self.load
