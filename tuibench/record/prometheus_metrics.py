"""Prometheus metrics of a session: tables of counters and gauges, and the snapshot that they are read from.

A table has one line per metric: name, meaning, and its source in a sample. Cumulative metrics are those of
the load, and those of the server that describe a load.

Names end in their unit: seconds, bytes, ratio (0 to 1). An unmeasured value is absent, never zero.
"""

from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, TypeVar

import msgspec

from tuibench.metrics.figures import read
from tuibench.model.counters import Counter
from tuibench.model.findings import Resource, ResourceUse
from tuibench.model.message import Status
from tuibench.model.plan import RunPlan
from tuibench.model.server import ServerInfo
from tuibench.model.tick import HOST, Sample, Tick


class MetricsSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One moment. `sample` is the newest, None before the first; `events` are counted by their kind.

    `where` describes the target, `started_at` the Unix time at which the session began. `totals` is the sum
    of the load's ticks since measuring began, unaffected by a reset of the figures, with the latencies of
    each kind of transaction; `traffic` that of all clients of the server. Either is None: a session has a
    load, or watches the server's own traffic. `use` is the use of resources by its operations so far.
    """

    version: str
    session: str
    plan: RunPlan
    where: str
    server: ServerInfo
    started_at: float
    status: Status
    totals: Tick | None
    traffic: Tick | None = None
    sample: Sample | None
    events: dict[str, int]
    use: ResourceUse = ResourceUse()


class ResourceCounter(NamedTuple):
    """One metric of resources used by operations; `labels` distinguish the members of one family."""

    name: str
    help: str
    resource: Resource
    factor: float = 1.0
    labels: tuple[tuple[str, str], ...] = ()


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
"""Divided by the growth of transactions or queries, they are the cost of an operation. The server's own
counters are exported separately.
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


Part = TypeVar("Part")


class Gauge(NamedTuple, Generic[Part]):
    """One metric; `read` returns None where there is no value."""

    name: str
    help: str
    read: Callable[[Part], float | None]


def _figure(name: str, factor: float = 1.0) -> Callable[[Tick], float | None]:
    """Reader of a figure of the table, in the metric's unit."""

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
"""Prefix of the client's host metrics, if the server is on another host."""

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
"""The owners of the host's processor time; their shares add up to the time used."""
