"""One sample of a run: figures of the load, the server and the host.

A part that was not measured is None, never zero. Rates are per second over the *measured* interval. Latencies
are milliseconds.
"""

from collections.abc import Iterable
from itertools import groupby

import msgspec

from tuibench.model.cluster.host import LoadHost


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


class CoarseHistogram(msgspec.Struct, frozen=True):
    """Distribution of latencies: counts in logarithmic buckets; `first` is the number of the first bucket.

    `metrics.histogram` defines the buckets.
    """

    first: int
    counts: tuple[int, ...]


class ConnectionSample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Connections in addition to the load, and users who share the load's connections, in the interval.

    `idle` of `idle_wanted` connections are open. `logins_per_second` are successful additional and planned
    logins, `login` their times; logins that were due but not started are missed. `waiting` of the `users`
    wait for a connection; `wait` is the waiting time of users who got one.
    """

    idle: int = 0
    idle_wanted: int = 0
    logins_per_second: float = 0.0
    missed_logins_per_second: float = 0.0
    login: Latency | None = None
    users: int = 0
    waiting: int = 0
    wait: Latency | None = None


class TimedStatement(msgspec.Struct, frozen=True, array_like=True):
    """Consecutive statements of one name in a transaction: their number, their total time, and the longest
    one. `error` is the server's error code of a failed statement, otherwise 0.
    """

    name: str
    count: int
    ms: float
    max_ms: float
    error: int = 0


class SlowTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """One of the slowest transactions of a sample, with its statements in order, over all attempts.

    `response_ms` is measured from the scheduled start, `service_ms` from the actual start; they are equal in
    a closed loop. `at_seconds` is the end of the sample.
    """

    transaction: str
    response_ms: float
    service_ms: float
    statements: tuple[TimedStatement, ...]
    at_seconds: float = 0.0

    @property
    def longest(self) -> TimedStatement | None:
        """The statements with the longest time."""
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


class LoadSample(msgspec.Struct, frozen=True, kw_only=True):
    """The load in the interval. `latency` and `statements` are empty if no transaction finished.

    `rate` is the target rate in transactions per second, 0 in a closed loop. In an open loop `latency` is the
    response time (from the scheduled start), `service` the time from the actual start, and `backlog` the
    number of transactions that are due but not started. `by_transaction` has the latency of each kind of
    transaction, and is empty if the profile has only one. `client_delay_ms` is the simulated network delay
    per round trip. `connections` are open, `threads` are requested. `errors` and `reconnects` are counts of
    the interval. `worker_cpu` is the busiest worker's share of one core (0 to 1); `lag_p99_ms` is its
    scheduling delay. `latency_buckets` is a coarse distribution of `latency`. `headline` is the profile's
    headline figure (see `Hello`), None without one. `connection_load` is None for a load without idle
    connections, planned logins and users. `slowest` are the slowest transactions; the record keeps the first
    one. `hosts` are the hosts that drive the load, empty for this host alone.
    """

    threads: int
    connections: int
    rate: float
    backlog: int
    seconds: float
    transactions_per_second: float
    queries_per_second: float
    reads_per_second: float
    writes_per_second: float
    others_per_second: float
    errors_per_second: float
    reconnects_per_second: float
    latency: Latency | None
    service: Latency | None
    statements: dict[str, Latency]
    by_transaction: dict[str, Latency] = {}
    client_delay_ms: float = 0.0
    errors_by_code: dict[str, int]
    transactions_total: int
    worker_cpu: float
    lag_p99_ms: float
    latency_buckets: CoarseHistogram | None = None
    headline: float | None = None
    connection_load: ConnectionSample | None = None
    slowest: tuple[SlowTransaction, ...] = ()
    hosts: tuple[LoadHost, ...] = ()


class TrafficSample(msgspec.Struct, frozen=True, kw_only=True):
    """What the server's clients did in the interval, as counted by the server, without the session's own
    statements.

    Transactions are COMMIT statements; autocommitted statements count as queries only. `latency` is the
    latency of statements, from the upper ends of the server's buckets; it is None if the server has no
    distribution, and `latency_avg_ms` is None if it has no times at all. `latency_note` is the source of the
    times, or the reason why they are missing. `transactions_total` counts since the start of the session.
    """

    seconds: float
    transactions_per_second: float
    rollbacks_per_second: float
    queries_per_second: float
    reads_per_second: float
    writes_per_second: float
    others_per_second: float
    transactions_total: int
    latency: Latency | None = None
    latency_avg_ms: float | None = None
    latency_note: str = ""
    latency_buckets: CoarseHistogram | None = None


class ServerSample(msgspec.Struct, frozen=True, kw_only=True):
    """Values of SHOW GLOBAL STATUS and SHOW GLOBAL VARIABLES. `max_connections` and `table_open_cache` are 0
    if the server does not provide them; the other figures are None if its status does not have them.

    Rates are None in the first sample after a connect, a restart or a FLUSH STATUS, and if the counter does
    not exist. `buffer_pool_hit` is a percentage (0 to 100). `counters` are the cumulative counters behind the
    rates, by the server's names; `gauges` are current values. `unavailable` has the reason for each name that
    is in neither of them, unless the server's flavour does not have it.
    """

    uptime_seconds: int | None
    threads_running: int | None
    threads_connected: int | None
    max_connections: int
    open_tables: int | None
    table_open_cache: int
    questions_total: int | None
    slow_queries_total: int | None
    questions_per_second: float | None = None
    slow_queries: int | None = None
    commits_per_second: float | None = None
    log_fsyncs_per_second: float | None = None
    log_fsyncs_per_transaction: float | None = None
    buffer_pool_hit: float | None = None
    row_lock_waits_per_second: float | None = None
    counters: dict[str, int] = {}
    gauges: dict[str, int] = {}
    unavailable: dict[str, str] = {}


class HostSample(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a host. CPU figures are percent of the whole host (0 to 100).

    `cpu_server` and `memory_server_bytes` (the resident set) are None if the server's process was not found
    (see `note`) or cannot be read. `cpu_by_core` has the percentage of each core. `disk_read_ms` and
    `disk_write_ms` are the mean time of a read or write, including the queue, None if there was none.
    `cpu_steal` is the CPU that the hypervisor gave to other guests, a part of `cpu_rest`; `cpu_throttled` is
    the share of time in which the CPU limit of the control group stopped its threads.

    `seconds` is the interval. `server_voluntary_switches` and `server_involuntary_switches` are context
    switches of the server's threads, `server_read_bytes` and `server_written_bytes` the bytes that its
    process read from and wrote to storage; None if they cannot be read.

    `cpu_limit` (in cores) and `memory_limit_bytes` are the limits of a control group, None for no limit:
    tuibench's control group on its own host, the server's on another host. `origin` is the source of another
    host's figures, as given with `--host-metrics`; empty for this host.
    """

    cores: int
    cpu_total: float
    cpu_server: float | None
    cpu_tuibench: float
    cpu_rest: float
    memory_used_bytes: int
    memory_total_bytes: int
    disk_read_bytes_per_second: float | None
    disk_write_bytes_per_second: float | None
    net_received_bytes_per_second: float | None
    net_sent_bytes_per_second: float | None
    note: str = ""
    memory_server_bytes: int | None = None
    cpu_by_core: tuple[float, ...] = ()
    swap_used_bytes: int | None = None
    swap_total_bytes: int | None = None
    disk_read_ms: float | None = None
    disk_write_ms: float | None = None
    cpu_steal: float = 0.0
    cpu_throttled: float = 0.0
    seconds: float = 0.0
    server_voluntary_switches: int | None = None
    server_involuntary_switches: int | None = None
    server_read_bytes: int | None = None
    server_written_bytes: int | None = None
    cpu_limit: float | None = None
    memory_limit_bytes: int | None = None
    origin: str = ""


class ReplicaSample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Lag of one replica. `lag_bytes` is what the source has written to its binary log after the replica's
    position. `state` is the applier's state, or the error that stopped it; `note` is the reason why the
    replica could not be read. If `is_running` is False, the lag in seconds is unknown and grows.
    """

    name: str
    lag_seconds: float | None = None
    lag_bytes: int | None = None
    is_running: bool = False
    state: str = ""
    note: str = ""


class Sample(msgspec.Struct, frozen=True, tag="sample", kw_only=True):
    """One sample: scheduled for `elapsed_seconds` after the start of the load, and `late_ms` late.

    `load` is the session's own load, `traffic` the work of the server for all of its clients. A session has
    one of them, or both if its load started with no threads. `host` is the server's host; `host_note` is the
    reason why it is missing, if another host was to be read. `client_host` is this host if the server is on
    another one. `replicas` are the replicas that the session reads.
    """

    number: int
    at: float
    elapsed_seconds: float
    late_ms: float
    load: LoadSample | None
    server: ServerSample | None
    host: HostSample | None
    traffic: TrafficSample | None = None
    client_host: HostSample | None = None
    host_note: str = ""
    replicas: tuple[ReplicaSample, ...] = ()

    @property
    def lag_seconds(self) -> float | None:
        """The largest lag of all replicas; None if none reports it."""
        return max((each.lag_seconds for each in self.replicas if each.lag_seconds is not None), default=None)

    @property
    def lag_bytes(self) -> int | None:
        """Like `lag_seconds`, in bytes of the binary log."""
        return max((each.lag_bytes for each in self.replicas if each.lag_bytes is not None), default=None)

    @property
    def shown_host(self) -> HostSample | None:
        """The server's host; the client's host if the server's is not measured."""
        return self.client_host if self.host is None and not self.host_note else self.host

    @property
    def client(self) -> HostSample | None:
        """The host that tuibench itself runs on."""
        return self.client_host if self.client_host is not None or _is_remote(self.host) else self.host

    @property
    def throughput(self) -> LoadSample | TrafficSample | None:
        """Throughput and latency: those of the server's traffic if the session shows traffic, otherwise those
        of the load.
        """
        return self.traffic or self.load


def _is_remote(host: HostSample | None) -> bool:
    return host is not None and bool(host.origin)
