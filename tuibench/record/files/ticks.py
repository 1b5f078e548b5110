"""Compact encoding of a sample in `samples.jsonl`.

Names are written once: those of statements and transactions before their first rows, those of counters and
gauges with their first values, those of the server's and the host's other figures never. Values that follow
from the counts of the sample are omitted. No line depends on a later one; a lost line loses its own sample,
and counters until they are written in full again.

Latencies are rows without names, and figures by name are differences.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec
from msgspec import UNSET, UnsetType, field
from msgspec.structs import asdict

from tuibench.metrics.histogram import US_PER_MS
from tuibench.model.cluster.host import LoadHost
from tuibench.model.measurements.sample import (
    CoarseHistogram,
    ConnectionSample,
    HostSample,
    Latency,
    LoadSample,
    ReplicaSample,
    Sample,
    ServerSample,
    SlowTransaction,
    TimedStatement,
    TrafficSample,
)
from tuibench.record.files.schema import LoadHostLine, TickCounts

LatencyRow = tuple[int, ...]
"""A `Latency`: count, then µs: min, avg, p50, p95, p99, p99.9, max. Missing values at the end equal the last
one. Empty without a latency.
"""

SlowRow = tuple[int, int, int, tuple[LatencyRow, ...]]
"""A `SlowTransaction`: the index of its name, its response and service time in µs, and for each of its
statements the index of the name, the count, µs, the longest in µs, and the error.
"""

_FIGURES = ("min", "avg", "p50", "p95", "p99", "p999", "max")

EncodedFigures = dict[str, int] | tuple[int, ...]
"""Values by name; or differences, in the order of the last values by name."""


class DeltaCodec:
    """Codec of figures by name, in full or as differences; cumulative ones in full after a decrease."""

    def __init__(self, *, falls: bool = True) -> None:
        self._falls = falls
        self._known: dict[str, int] | None = None

    def encoded(self, now: dict[str, int]) -> EncodedFigures:
        """Encode the next values."""
        before, self._known = self._known, now
        if before is None or before.keys() != now.keys():
            return now
        changes = tuple(now[name] - value for name, value in before.items())
        if not self._falls and min(changes, default=0) < 0:
            return now
        self._known = {name: now[name] for name in before}
        return changes

    def decoded(self, encoded: EncodedFigures) -> dict[str, int]:
        """Decode the next values; empty while the names are unknown."""
        if isinstance(encoded, dict):
            self._known = encoded
        elif self._known is None or len(self._known) != len(encoded):
            self._known = None
        else:
            self._known = {
                name: value + change
                for (name, value), change in zip(self._known.items(), encoded, strict=True)
            }
        return self._known or {}


def encode_latency(latency: Latency | None) -> LatencyRow:
    """Encode a latency as a row without names, as short as possible."""
    if latency is None:
        return ()
    figures = [round(getattr(latency, name) * US_PER_MS) for name in _FIGURES]
    while len(figures) > 1 and figures[-1] == figures[-2]:
        figures.pop()
    return (latency.count, *figures)


def decode_latency(row: LatencyRow) -> Latency | None:
    """Decode a row; None if it is empty or has other figures."""
    if not 2 <= len(row) <= 1 + len(_FIGURES):
        return None
    count, *encoded = row
    figures = encoded + encoded[-1:] * (len(_FIGURES) - len(encoded))
    return Latency(count=count, **{name: us / US_PER_MS for name, us in zip(_FIGURES, figures, strict=True)})


_COUNTED: dict[str, Callable[[TickCounts], int]] = {
    "transactions_per_second": lambda counts: counts.completed,
    "queries_per_second": lambda counts: counts.reads + counts.writes + counts.others,
    "reads_per_second": lambda counts: counts.reads,
    "writes_per_second": lambda counts: counts.writes,
    "others_per_second": lambda counts: counts.others,
    "errors_per_second": lambda counts: counts.failures,
    "reconnects_per_second": lambda counts: counts.reconnects,
}
"""Rates that equal a count divided by the seconds, unless a worker had been silent."""

_AS_THEY_ARE = (
    "threads", "connections", "rate", "backlog", "seconds", "client_delay_ms", "transactions_total",
    "worker_cpu", "lag_p99_ms",
)  # fmt: skip
"""Numbers that are 0 if absent."""


class LoadLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The load part. `statements` and `by_transaction` have a row per name, by its index in the names.

    `names` is written when a name is added, with all names. Absent rates are counts divided by the seconds;
    an absent `errors_by_code` is that of the counts. `latency_buckets` has the number of its first bucket,
    then the counts. `slowest` is the slowest transaction of the sample.
    """

    threads: int = 0
    connections: int = 0
    seconds: float = 0.0
    rate: float = 0.0
    backlog: int = 0
    transactions_per_second: float | UnsetType = UNSET
    queries_per_second: float | UnsetType = UNSET
    reads_per_second: float | UnsetType = UNSET
    writes_per_second: float | UnsetType = UNSET
    others_per_second: float | UnsetType = UNSET
    errors_per_second: float | UnsetType = UNSET
    reconnects_per_second: float | UnsetType = UNSET
    errors_by_code: dict[str, int] | UnsetType = UNSET
    transactions_total: int = 0
    client_delay_ms: float = 0.0
    worker_cpu: float = 0.0
    lag_p99_ms: float = 0.0
    headline: float | None = None
    connection_load: ConnectionSample | None = None
    latency: LatencyRow = ()
    service: LatencyRow = ()
    latency_buckets: LatencyRow = ()
    names: tuple[str, ...] = ()
    by_transaction: dict[int, LatencyRow] = {}
    statements: dict[int, LatencyRow] = {}
    slowest: SlowRow | None = None
    hosts: tuple[LoadHostLine, ...] = ()


class ServerLine(ServerSample, frozen=True, kw_only=True, array_like=True):
    """The server part, without names. An `unavailable` of null is unchanged."""

    counters: EncodedFigures = field(default_factory=dict)  # type: ignore[assignment]
    gauges: EncodedFigures = field(default_factory=dict)  # type: ignore[assignment]
    unavailable: dict[str, str] | None = None  # type: ignore[assignment]


class HostLine(HostSample, frozen=True, kw_only=True, array_like=True):
    """The host part, without names."""


class TrafficLine(TrafficSample, frozen=True, kw_only=True, array_like=True):
    """The traffic part, without names. A `latency_note` of null is unchanged."""

    latency: LatencyRow = ()  # type: ignore[assignment]
    latency_buckets: LatencyRow = ()  # type: ignore[assignment]
    latency_note: str | None = None  # type: ignore[assignment]


class SampleLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of `samples.jsonl`. `elapsed_seconds` is 0 or less during the warm-up."""

    number: int
    at: float
    elapsed_seconds: float
    late_ms: float = 0.0
    counts: TickCounts = TickCounts()
    load: LoadLine | None = None
    server: ServerLine | None = None
    host: HostLine | None = None
    traffic: TrafficLine | None = None
    client_host: HostLine | None = None
    host_note: str = ""
    replicas: tuple[ReplicaSample, ...] = ()


class TickWriter:
    """Encodes samples as lines. It keeps the state of a reader of the lines so far."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._counters, self._gauges = DeltaCodec(falls=False), DeltaCodec()
        self._unavailable: dict[str, str] = {}
        self._latency_note = ""

    def line(self, sample: Sample, counts: TickCounts) -> SampleLine:
        """Encode the next tick."""
        return SampleLine(
            number=sample.number,
            at=sample.at,
            elapsed_seconds=sample.elapsed_seconds,
            late_ms=sample.late_ms,
            counts=counts,
            load=self._load(sample.load, counts) if sample.load else None,
            server=self._server(sample.server) if sample.server else None,
            host=HostLine(**asdict(sample.host)) if sample.host else None,
            traffic=self._traffic(sample.traffic) if sample.traffic else None,
            client_host=HostLine(**asdict(sample.client_host)) if sample.client_host else None,
            host_note=sample.host_note,
            replicas=sample.replicas,
        )

    def _traffic(self, traffic: TrafficSample) -> TrafficLine:
        before, self._latency_note = self._latency_note, traffic.latency_note
        encoded = {
            "latency": encode_latency(traffic.latency),
            "latency_buckets": _bucket_row(traffic.latency_buckets),
            "latency_note": None if before == traffic.latency_note else traffic.latency_note,
        }
        return TrafficLine(**{**asdict(traffic), **encoded})

    def _load(self, load: LoadSample, counts: TickCounts) -> LoadLine:
        rates = _rates(counts, load.seconds)
        odd = {name for name, rate in rates.items() if not math.isclose(getattr(load, name), rate)}
        if load.errors_by_code != _by_code(counts):
            odd.add("errors_by_code")
        return LoadLine(
            **{name: getattr(load, name) for name in _AS_THEY_ARE if getattr(load, name)},
            **{name: getattr(load, name) for name in odd},
            headline=load.headline,
            connection_load=load.connection_load,
            latency=encode_latency(load.latency),
            service=encode_latency(load.service),
            latency_buckets=_bucket_row(load.latency_buckets),
            names=self._new_names((*load.by_transaction, *load.statements, *_slow_names(load))),
            by_transaction=self._rows(load.by_transaction),
            statements=self._rows(load.statements),
            slowest=self._slow_row(load.slowest[0]) if load.slowest else None,
            hosts=tuple(LoadHostLine(**asdict(host)) for host in load.hosts),
        )

    def _slow_row(self, slow: SlowTransaction) -> SlowRow:
        statements = (
            (self._places[each.name], each.count, _us(each.ms), _us(each.max_ms), each.error)
            for each in slow.statements
        )
        return (
            self._places[slow.transaction],
            _us(slow.response_ms),
            _us(slow.service_ms),
            tuple(statements),
        )

    def _new_names(self, names: Iterable[str]) -> tuple[str, ...]:
        known = len(self._places)
        for name in names:
            self._places.setdefault(name, len(self._places))
        return tuple(self._places) if len(self._places) > known else ()

    def _rows(self, latencies: Mapping[str, Latency]) -> dict[int, LatencyRow]:
        return {self._places[name]: encode_latency(latency) for name, latency in latencies.items()}

    def _server(self, server: ServerSample) -> ServerLine:
        before, self._unavailable = self._unavailable, server.unavailable
        encoded = {
            "counters": self._counters.encoded(server.counters),
            "gauges": self._gauges.encoded(server.gauges),
            "unavailable": None if before == server.unavailable else server.unavailable,
        }
        return ServerLine(**{**asdict(server), **encoded})


class TickReader:
    """Decodes lines, in order, to samples."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._counters, self._gauges = DeltaCodec(), DeltaCodec()
        self._unavailable: dict[str, str] = {}
        self._latency_note = ""

    def sample(self, line: SampleLine) -> Sample:
        """Decode the next line."""
        return Sample(
            number=line.number,
            at=line.at,
            elapsed_seconds=line.elapsed_seconds,
            late_ms=line.late_ms,
            load=self._load(line.load, line.counts, line.elapsed_seconds) if line.load else None,
            server=self._server(line.server) if line.server else None,
            host=HostSample(**asdict(line.host)) if line.host else None,
            traffic=self._traffic(line.traffic) if line.traffic else None,
            client_host=HostSample(**asdict(line.client_host)) if line.client_host else None,
            host_note=line.host_note,
            replicas=line.replicas,
        )

    def _traffic(self, line: TrafficLine) -> TrafficSample:
        self._latency_note = self._latency_note if line.latency_note is None else line.latency_note
        decoded = {
            "latency": decode_latency(line.latency),
            "latency_buckets": _histogram(line.latency_buckets),
            "latency_note": self._latency_note,
        }
        return TrafficSample(**{**asdict(line), **decoded})

    def _load(self, line: LoadLine, counts: TickCounts, elapsed_seconds: float) -> LoadSample:
        self._names = line.names or self._names
        encoded = {name: getattr(line, name) for name in _COUNTED if getattr(line, name) is not UNSET}
        codes = line.errors_by_code
        return LoadSample(
            **{name: getattr(line, name) for name in _AS_THEY_ARE},
            **(_rates(counts, line.seconds) | encoded),
            headline=line.headline,
            connection_load=line.connection_load,
            errors_by_code=_by_code(counts) if codes is UNSET else codes,
            latency=decode_latency(line.latency),
            service=decode_latency(line.service),
            latency_buckets=_histogram(line.latency_buckets),
            by_transaction=self._latencies(line.by_transaction),
            statements=self._latencies(line.statements),
            slowest=self._slowest(line.slowest, elapsed_seconds) if line.slowest else (),
            hosts=tuple(LoadHost(**asdict(host)) for host in line.hosts),
        )

    def _slowest(self, row: SlowRow, elapsed_seconds: float) -> tuple[SlowTransaction, ...]:
        """The slowest transaction; empty if the line with the name is lost."""
        place, response_us, service_us, statements = row
        if max([place, *(each[0] for each in statements)]) >= len(self._names):
            return ()
        slow = SlowTransaction(
            transaction=self._names[place],
            response_ms=response_us / US_PER_MS,
            service_ms=service_us / US_PER_MS,
            statements=tuple(
                TimedStatement(self._names[name], count, us / US_PER_MS, max_us / US_PER_MS, error)
                for name, count, us, max_us, error in statements
            ),
            at_seconds=elapsed_seconds,
        )
        return (slow,)

    def _latencies(self, rows: Mapping[int, LatencyRow]) -> dict[str, Latency]:
        """Figures by name; those whose name is in a lost line are omitted."""
        found = {
            self._names[place]: decode_latency(row) for place, row in rows.items() if place < len(self._names)
        }
        return {name: latency for name, latency in found.items() if latency is not None}

    def _server(self, line: ServerLine) -> ServerSample:
        self._unavailable = self._unavailable if line.unavailable is None else line.unavailable
        encoded = {
            "counters": self._counters.decoded(line.counters),
            "gauges": self._gauges.decoded(line.gauges),
            "unavailable": self._unavailable,
        }
        return ServerSample(**{**asdict(line), **encoded})


def _slow_names(load: LoadSample) -> Iterator[str]:
    for slow in load.slowest[:1]:
        yield slow.transaction
        yield from (each.name for each in slow.statements)


def _us(milliseconds: float) -> int:
    return round(milliseconds * US_PER_MS)


def _bucket_row(shape: CoarseHistogram | None) -> LatencyRow:
    return (shape.first, *shape.counts) if shape else ()


def _histogram(row: LatencyRow) -> CoarseHistogram | None:
    return CoarseHistogram(row[0], row[1:]) if row else None


def _rates(counts: TickCounts, seconds: float) -> dict[str, float]:
    return {name: count(counts) / seconds if seconds else 0.0 for name, count in _COUNTED.items()}


def _by_code(counts: TickCounts) -> dict[str, int]:
    return {str(code): times for code, times in counts.errors.items()}
