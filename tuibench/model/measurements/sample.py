"""One tick of a run: figures of the load, the server and the host.

A part that was not measured is None, never zero. Rates are per second over the *measured* interval.
Latencies are milliseconds.
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
    """How latencies are distributed: counts in log buckets, the first of them number `first`.

    What the numbers mean is decided in `metrics.histogram`.
    """

    first: int
    counts: tuple[int, ...]


class ConnectionSample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Connections beside the load, and users who share those of the load, in the interval.

    `idle` connections are open of `idle_wanted`. `logins_per_second` are extra and planned logins that
    succeeded, `login` their times; those that were due and not started are missed. `waiting` of the `users`
    wait for a connection; `wait` is how long those had waited who got one.
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
    """Statements of one name that a transaction sent one after the other: how many, their time together, and
    the longest. `error` is the server's code of one that failed, 0 otherwise."""

    name: str
    count: int
    ms: float
    max_ms: float
    error: int = 0


class SlowTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """One of the slowest transactions of a tick, with what it sent, in order, over all its attempts.

    `response_ms` counts from the intended start, `service_ms` from the actual one; they are equal in a closed
    loop. `at_seconds` is the end of its tick.
    """

    transaction: str
    response_ms: float
    service_ms: float
    statements: tuple[TimedStatement, ...]
    at_seconds: float = 0.0

    @property
    def longest(self) -> TimedStatement | None:
        """The statements that took the most of its time."""
        return max(self.statements, key=lambda each: each.ms, default=None)


MOST_SLOW = 3
"""Number of slow transactions kept per tick."""


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
    """What the workers did in the interval. `latency` and `statements` are empty when nothing finished.

    `rate` is transactions per second asked for, 0 in a closed loop. In an open loop `latency` is the response
    time (from the intended start), `service` the time from the real one, `backlog` what is due and waits.
    `by_transaction` is the latency of each kind of transaction, empty for a profile that has only one.
    `client_delay_ms` is what a make-believe network added to each round trip. `connections` are open,
    `threads` is how many were asked for. `errors` and `reconnects` are counts of the interval. `worker_cpu`
    is the busiest worker's share of one core (0 to 1); `lag_p99_ms` how late the busiest worker's loop ran.
    `latency_buckets` is the distribution of `latency`, coarse. `headline` is the figure that the
    profile is known by (see `Hello`), None without one. `connection_load` is None for a load without idle
    connections, planned logins and users. `slowest` are the slowest transactions; the record keeps the first.
    `hosts` are those that drive the load, empty for this host alone.
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
    """What the server's clients did in the interval, as the server counted it; the session's own statements
    are not included.

    Transactions are COMMIT statements: those that autocommit are queries only. `latency` is that of
    statements, by the upper ends of the server's buckets; it is None where the server keeps no distribution,
    and `latency_avg_ms` is None where it keeps no times at all. `latency_note` says where they come from, or
    why they are missing. `transactions_total` counts since the session began.
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
    """What SHOW GLOBAL STATUS and SHOW GLOBAL VARIABLES said. `max_connections` and `table_open_cache` are 0
    where the server does not tell them; the other figures are None where they are not in its status.

    Rates are None in the first tick after a connect, a restart or a FLUSH STATUS, and where the counter does
    not exist. `buffer_pool_hit` is a percentage (0 to 100). `counters` are the cumulative counters the rates
    came from, by the server's own names; `gauges` is what held at that moment. `untold` says why a name is in
    neither where the reason is not the server's flavour.
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
    untold: dict[str, str] = {}


class HostSample(msgspec.Struct, frozen=True, kw_only=True):
    """What a host did. CPU figures are percent of the whole machine (0 to 100).

    `cpu_server` is None when the server's process was not found (see `note`) or cannot be read;
    `memory_server_bytes`, the memory it holds (its resident set), likewise. `cpu_by_core` is each core's own
    percentage. `disk_read_ms` and `disk_write_ms` are how long a read or write took from queue to end, None
    where there was none. `cpu_steal` is what the hypervisor gave to other guests, a part of `cpu_rest`;
    `cpu_throttled` is how much of the time the CPU limit of the control group held its threads back.

    `seconds` is the interval. `server_voluntary_switches` and `server_involuntary_switches` are context
    switches of the server's threads in it, `server_read_bytes` and `server_written_bytes` what its process
    read from storage and wrote to it; None where they cannot be read.

    `cpu_limit` (in cores) and `memory_limit_bytes` are the limits of a control group, None without one: of
    tuibench's on its own host, of the server's on another. `origin` says where the figures of another host
    come from, as it was asked for; it is empty for this host.
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
    """How far one replica is behind. `lag_bytes` is what the source has written to its binary log since the
    replica's position. `state` is what its applier does, or what stopped it; `note` says why it could not be
    read. Where `is_running` is false, the lag in seconds is not known: it grows.
    """

    name: str
    lag_seconds: float | None = None
    lag_bytes: int | None = None
    is_running: bool = False
    state: str = ""
    note: str = ""


class Sample(msgspec.Struct, frozen=True, tag="sample", kw_only=True):
    """One tick: due `elapsed_seconds` after the start of the load, and `late_ms` late.

    `load` is the session's own load, `traffic` is all that a server does for its clients. A session has one
    of them; one whose load began without a thread has both. `host` is the server's host; `host_note` says why
    it is missing, where another host was to be read. `client_host` is this host where the server is on
    another one. `replicas` are those that the session reads.
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
