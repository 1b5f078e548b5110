"""Prometheus metrics of a session: tables of counters and gauges, and the page with their values.

A table has one line per metric: name, meaning, and its source in a sample. All names begin with `tuibench_`
and end in their unit: seconds, bytes, ratio (0 to 1). The set of metrics is the same for every load. Counters
that the server does not have, and values that were not measured, are absent, never zero.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import Generic, NamedTuple, TypeVar

import msgspec
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector, CollectorRegistry

from tuibench.base import sanitize
from tuibench.metrics.figures import FIGURES, all_values, read
from tuibench.model.counters import Counter
from tuibench.model.event import EventKind
from tuibench.model.findings import Resource, ResourceUse
from tuibench.model.message import RunState, Status
from tuibench.model.plan import RunPlan
from tuibench.model.server import ServerInfo
from tuibench.model.tick import (
    ERROR,
    HOST,
    RESPONSE,
    SERVICE,
    TRANSACTION,
    Histogram,
    Sample,
    Tick,
    bucket_upper_bound,
)
from tuibench.mysql.errors import error_name

# Latency histograms have Prometheus' classic form: fixed bounds in seconds, cumulative counts, exact sum.
# With six bounds per decade, an interpolated quantile is within a third of the true value, and mostly within
# a tenth. The bounds never change, so that runs can be added up and compared.

_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
_DECADES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
BOUNDS = (*(round(step * decade, 6) for decade in _DECADES for step in _STEPS), 10.0, 15.0, 30.0, 60.0)
"""Upper bounds in seconds, inclusive, from 100 µs to a minute."""

_BOUNDS_US = tuple(round(bound * 1e6) for bound in BOUNDS)

Buckets = list[tuple[str, float]]


def cumulated(histogram: Histogram) -> Buckets:
    """The cumulative count up to each bound, `+Inf` last."""
    counts = [0] * (len(BOUNDS) + 1)
    for bucket, times in histogram.counts.items():
        counts[bisect_left(_BOUNDS_US, bucket_upper_bound(bucket))] += times
    bounds = [*(f"{bound:g}" for bound in BOUNDS), "+Inf"]
    return [(bound, float(count)) for bound, count in zip(bounds, accumulate(counts), strict=True)]


def sum_seconds(histogram: Histogram) -> float:
    return histogram.sum_us / 1e6


PREFIX = "tuibench_"
Part = TypeVar("Part")


class MetricsSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a session from which the page is rendered."""

    version: str
    session: str
    plan: RunPlan
    where: str
    """The address of the server."""
    server: ServerInfo
    started_at: float
    """Unix time at which the session started."""
    status: Status
    totals: Tick | None
    """The sum of the load's ticks since the warm-up, which a reset of the figures does not affect; None for a
    session without load.
    """
    traffic: Tick | None = None
    """The same for the traffic of all clients of the server; None for a session with a load."""
    sample: Sample | None
    """The newest sample; None before the first."""
    events: dict[str, int]
    """The number of events of each kind."""
    use: ResourceUse = ResourceUse()
    """The resources that all operations have used so far."""


class ResourceCounter(NamedTuple):
    """One metric of the resources that operations use."""

    name: str
    help: str
    resource: Resource
    factor: float = 1.0
    """Converts the resource's unit to the metric's."""
    labels: tuple[tuple[str, str], ...] = ()
    """Distinguish the metrics of one name."""


_SWITCHES = ("server_context_switches", "Context switches of the server's threads.")
_STORAGE = ("server_storage_bytes", "Bytes that the server's process read from storage and wrote to it.")

RESOURCE_COUNTERS = (
    ResourceCounter("server_cpu_seconds", "CPU time of the server's process.", Resource.SERVER_CPU, 1e-6),
    ResourceCounter("client_cpu_seconds", "CPU time of tuibench.", Resource.CLIENT_CPU, 1e-6),
    ResourceCounter(*_SWITCHES, Resource.VOLUNTARY_SWITCHES, labels=(("kind", "voluntary"),)),
    ResourceCounter(*_SWITCHES, Resource.INVOLUNTARY_SWITCHES, labels=(("kind", "involuntary"),)),
    ResourceCounter(*_STORAGE, Resource.DISK_READ_BYTES, labels=(("direction", "read"),)),
    ResourceCounter(*_STORAGE, Resource.DISK_WRITTEN_BYTES, labels=(("direction", "written"),)),
)
"""The cost of an operation is the growth of such a counter, divided by that of transactions or queries. The
server's own counters are exported separately.
"""


LOAD_COUNTERS = {
    "completed": ("transactions", "Transactions that were committed."),
    "failed": ("transactions_failed", "Transactions that failed."),
    "abandoned": ("transactions_abandoned", "Transactions cut off or never started."),
    "unknown_commits": ("unknown_commits", "COMMITs whose connection was lost before the answer."),
    "retries": ("transaction_retries", "Transactions retried."),
    "reconnects": ("reconnects", "Connections reopened after they were lost."),
}
"""Counters of the load by their names in a tick: name, without the suffix `_total`, and meaning."""

QUERY_KINDS = {"reads": "read", "writes": "write", "others": "other"}
"""Kinds of statements by the names of their counts in a tick."""


def exported_counters() -> Iterator[tuple[Counter, str]]:
    """The server's exported counters, each with its help text."""
    for counter in Counter:
        if facts := counter.facts if counter.facts.metric else None:
            only = f" ({facts.flavour})" if facts.flavour else ""
            yield counter, f"{facts.meaning[:1].upper()}{facts.meaning[1:]}{only}."


class Gauge(NamedTuple, Generic[Part]):
    """One metric."""

    name: str
    help: str
    read: Callable[[Part], float | None]
    """Returns the value; None if there is none."""


def _figure(name: str, factor: float = 1.0) -> Callable[[Tick], float | None]:
    """A function that reads a figure of a tick and converts it to the metric's unit."""

    def read_it(tick: Tick) -> float | None:
        value = read(name, tick)
        return None if value is None else factor * value

    return read_it


def _level(name: str) -> Callable[[Tick], float | None]:
    return lambda tick: tick.levels.get(name)


STATUS_GAUGES: tuple[Gauge[Status], ...] = (
    Gauge("threads", "Concurrent connections that are requested.", lambda now: now.threads),
    Gauge(
        "target_rate_per_second",
        "Target transactions per second; 0 without a target.",
        lambda now: now.rate,
    ),
    Gauge(
        "client_delay_seconds",
        "Simulated network delay of each round trip.",
        lambda now: now.client_delay_ms / 1e3,
    ),
    Gauge("workers", "Worker processes of the load.", lambda now: now.workers),
    Gauge("warnings", "Measurement warnings in effect.", lambda now: len(now.warnings)),
)

SAMPLE_GAUGES: tuple[Gauge[Sample], ...] = (
    Gauge("sample_timestamp_seconds", "Unix time of the newest sample.", lambda sample: sample.at),
    Gauge("replica_lag_seconds", "Lag of the replica furthest behind.", lambda sample: sample.lag_seconds),
    Gauge(
        "replica_lag_bytes",
        "Binary log that the replica furthest behind has not replayed.",
        lambda sample: sample.lag_bytes,
    ),
    Gauge("sample_lateness_seconds", "Delay of the newest sample.", lambda sample: sample.late_ms / 1e3),
)

LOAD_GAUGES: tuple[Gauge[Tick], ...] = (
    Gauge("connections", "Connections of the load that are open.", _figure("open_connections")),
    Gauge("backlog_transactions", "Transactions that are due but not started.", _figure("backlog")),
    Gauge("idle_connections", "Additional idle connections.", _figure("idle")),
    Gauge(
        "logins_per_second",
        "Additional and planned logins, over the last interval.",
        lambda load: _figure("logins")(load) if "idle_wanted" in load.levels else None,
    ),
    Gauge(
        "login_p95_seconds",
        "95th percentile of the time of additional and planned logins, over the last interval.",
        _figure("login_p95", 1e-3),
    ),
    Gauge("users", "Users who share the connections of the load.", _figure("users")),
    Gauge(
        "connection_wait_p95_seconds",
        "95th percentile of the time that users waited for a connection, over the last interval.",
        _figure("wait_p95", 1e-3),
    ),
    Gauge("worker_cpu_ratio", "The busiest worker's share of one core.", _figure("worker_cpu")),
    Gauge(
        "worker_loop_lag_seconds",
        "99th percentile of the busiest worker's scheduling delay.",
        _figure("scheduling_delay", 1e-3),
    ),
)

SERVER_GAUGES: tuple[Gauge[Tick], ...] = (
    Gauge("server_uptime_seconds", "Uptime of the server.", _level(Counter.UPTIME)),
    Gauge("server_threads_running", "Running threads of the server.", _figure("threads_running")),
    Gauge("server_threads_connected", "Connections to the server.", _figure("threads_connected")),
    Gauge("server_max_connections", "Its max_connections.", _level("max_connections")),
    Gauge("server_open_tables", "Tables in the table cache.", _figure("open_tables")),
    Gauge("server_table_open_cache", "Its table_open_cache.", _level("table_open_cache")),
    Gauge(
        "server_buffer_pool_hit_ratio",
        "Share of page requests served from the buffer pool, over the last interval.",
        _figure("pool_hit", 1e-2),
    ),
)

CLIENT = "client_"
"""Prefix of the metrics of the client's host if the server is on another host."""

HOST_GAUGES: tuple[Gauge[Tick], ...] = (
    Gauge("host_cpus", "CPUs of the host.", _level(HOST + "cores")),
    Gauge("host_memory_used_bytes", "Used memory of the host.", _figure("memory_used")),
    Gauge("host_memory_total_bytes", "Total memory of the host.", _level(HOST + "memory_total")),
    Gauge(
        "host_disk_read_bytes_per_second", "Read from disks, over the last interval.", _figure("disk_read")
    ),
    Gauge(
        "host_disk_written_bytes_per_second",
        "Written to disks, over the last interval.",
        _figure("disk_write"),
    ),
    Gauge(
        "host_network_received_bytes_per_second",
        "Received from the network, over the last interval.",
        _figure("net_received"),
    ),
    Gauge(
        "host_network_sent_bytes_per_second",
        "Sent to the network, over the last interval.",
        _figure("net_sent"),
    ),
)

CPU_OWNERS: tuple[Gauge[Tick], ...] = tuple(
    Gauge(owner, "", _figure(f"cpu_{owner}", 1e-2)) for owner in ("server", "tuibench", "rest")
)
"""The host's CPU time by group of processes; the shares add up to the time used."""


def render_page(snapshot: MetricsSnapshot, accept: str = "") -> tuple[bytes, str]:
    """The page and its content type: OpenMetrics if `accept` (of the request) asks for it, else text."""
    encode, content_type = choose_encoder(accept)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Fixed(metric_families(snapshot)))
    return encode(registry), content_type


class _Fixed(Collector):
    """A collector of given metric families; control characters in label values are escaped."""

    def __init__(self, found: Iterable[Metric]) -> None:
        self._found = list(found)
        for metric in self._found:
            metric.samples = [
                sample._replace(labels={name: sanitize.text(value) for name, value in sample.labels.items()})
                for sample in metric.samples
            ]

    def collect(self) -> Iterable[Metric]:
        return self._found


def metric_families(snapshot: MetricsSnapshot) -> Iterator[Metric]:
    """All metrics of a snapshot."""
    yield from _identity(snapshot)
    if snapshot.totals is not None:
        yield from _load(snapshot.totals)
        response = HistogramMetricFamily(
            PREFIX + "transaction_duration_seconds",
            "Response time of committed transactions.",
            labels=["transaction"],
        )
        for name, histogram in sorted(snapshot.totals.named(TRANSACTION).items()):
            response.add_metric([name], cumulated(histogram), sum_seconds(histogram))
        yield response
        yield from _times(
            "transaction_service_seconds",
            "Time from the actual start of transactions, in a run with a rate.",
            snapshot.totals.hist(SERVICE),
        )
    if snapshot.traffic is not None:
        yield _queries(
            "traffic_queries", "Statements of the server's clients, without tuibench's own.", snapshot.traffic
        )
        yield from _times(
            "traffic_statement_duration_seconds",
            "Statement times, measured by the server.",
            snapshot.traffic.hist(RESPONSE),
        )
    yield from _resources(snapshot.use)
    family = CounterMetricFamily(PREFIX + "events", "Events by kind.", labels=["kind"])
    for kind in EventKind:
        family.add_metric([str(kind)], snapshot.events.get(kind, 0))
    yield family
    yield from _read(STATUS_GAUGES, snapshot.status)
    sample = snapshot.sample
    if sample is None:
        return
    yield from _read(SAMPLE_GAUGES, sample)
    yield from _read(LOAD_GAUGES, sample.load)
    yield from _read(SERVER_GAUGES, sample.server)
    if sample.server is not None:
        for counter, help_text in exported_counters():
            if counter in sample.server.levels:
                value = sample.server.levels[counter] * counter.facts.unit.in_metric
                yield CounterMetricFamily(f"{PREFIX}server_{counter.facts.metric}", help_text, value=value)
    yield _figures(sample)
    yield from _host(sample.host, PREFIX)
    yield from _host(sample.client_host, PREFIX + CLIENT)


def _figures(sample: Sample) -> Metric:
    """The figures of a sample, with the name of the figure as label; unknown ones are absent."""
    family = GaugeMetricFamily(
        PREFIX + "figure", "Figures of the newest sample, in their own unit.", labels=["figure", "unit"]
    )
    for name, value in all_values(sample.tick).items():
        family.add_metric([name, FIGURES[name].unit], value)
    return family


def _host(host: Tick | None, prefix: str) -> Iterator[Metric]:
    """A host's figures; unknown ones are absent."""
    if host is None:
        return
    yield from _read(HOST_GAUGES, host, prefix)
    cpu = GaugeMetricFamily(prefix + "host_cpu_ratio", "Share of all CPU time.", labels=["owner"])
    for owner in CPU_OWNERS:
        if (share := owner.read(host)) is not None:
            cpu.add_metric([owner.name], share)
    yield cpu


def _identity(snapshot: MetricsSnapshot) -> Iterator[Metric]:
    yield InfoMetricFamily(PREFIX + "build", "The program.", {"version": snapshot.version})
    yield InfoMetricFamily(
        PREFIX + "run",
        "Profile and server of the run.",
        {
            "session": snapshot.session,
            "profile": snapshot.plan.profile,
            "target": snapshot.where,
            "server_flavour": str(snapshot.server.flavour),
            "server_version": snapshot.server.version_text,
        },
    )
    started = GaugeMetricFamily(PREFIX + "start_time_seconds", "Unix time at which the session began.")
    started.add_metric([], snapshot.started_at)
    yield started
    state = GaugeMetricFamily(
        PREFIX + "state", "1 for the current state of the run, 0 for the others.", labels=["state"]
    )
    for one in RunState:
        state.add_metric([str(one)], float(one is snapshot.status.state))
    yield state
    setting = InfoMetricFamily(PREFIX + "setting", "Values of the server's settings.", labels=["name"])
    for each in snapshot.status.settings:
        if each.value:
            setting.add_metric([each.name], {"value": each.value, "original": each.original})
    yield setting


def _load(totals: Tick) -> Iterator[Metric]:
    for count, (name, meaning) in LOAD_COUNTERS.items():
        yield CounterMetricFamily(PREFIX + name, meaning, value=totals.sums.get(count, 0))
    yield _queries("queries", "Statements that returned.", totals)
    errors = CounterMetricFamily(
        PREFIX + "errors", "Failed statements by the server's error.", labels=["code", "name"]
    )
    for code, times in sorted((int(code), times) for code, times in totals.counts(ERROR).items()):
        errors.add_metric([str(code), error_name(code)], times)
    yield errors


def _queries(name: str, meaning: str, totals: Tick) -> Metric:
    family = CounterMetricFamily(PREFIX + name, meaning, labels=["kind"])
    for count, kind in QUERY_KINDS.items():
        family.add_metric([kind], totals.sums.get(count, 0))
    return family


def _times(name: str, meaning: str, histogram: Histogram) -> Iterator[Metric]:
    """The metric of a histogram; none if it is empty."""
    if histogram.count:
        yield HistogramMetricFamily(
            PREFIX + name, meaning, buckets=cumulated(histogram), sum_value=sum_seconds(histogram)
        )


def _resources(use: ResourceUse) -> Iterator[Metric]:
    """The resources used by operations; unknown ones are absent."""
    families: dict[str, CounterMetricFamily] = {}
    for counter in RESOURCE_COUNTERS:
        if counter.resource not in use.used:
            continue
        names, values = [name for name, _ in counter.labels], [value for _, value in counter.labels]
        family = families.setdefault(
            counter.name, CounterMetricFamily(PREFIX + counter.name, counter.help, labels=names)
        )
        family.add_metric(values, use.used[counter.resource] * counter.factor)
    yield from families.values()


def _read(table: Iterable[Gauge[Part]], part: Part | None, prefix: str = PREFIX) -> Iterator[Metric]:
    for gauge in table if part is not None else ():
        value = gauge.read(part)  # type: ignore[arg-type]
        if value is not None:
            family = GaugeMetricFamily(prefix + gauge.name, gauge.help)
            family.add_metric([], value)
            yield family
