"""One sample of a session: its tick, and what does not add up: slow transactions, replicas, hosts.

`load`, `traffic`, `server` and `host` read the tick's figures; one that was not measured is None, never
zero. Rates are per second over the *measured* interval. Latencies are milliseconds.
"""

from collections.abc import Iterable
from functools import cached_property
from itertools import groupby

import msgspec

from tuibench.model.cluster.host import LoadHost
from tuibench.model.counters import CUMULATIVE_NAMES, GAUGE_NAMES, LOG_FSYNCS, Counter, first_known
from tuibench.model.histogram import Histogram, Latency
from tuibench.model.tick import (
    CLIENT,
    ERROR,
    HOST,
    LOGIN,
    OWN,
    RESPONSE,
    SERVICE,
    STATEMENT,
    TRANSACTION,
    WAIT,
    Tick,
)


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


class _Reading:
    """Reads a source's figures in a tick, whose keys begin with `prefix`."""

    def __init__(self, tick: Tick, prefix: str = "") -> None:
        self._tick = tick
        self._prefix = prefix

    def _sum(self, name: str) -> float | None:
        return self._tick.sums.get(self._prefix + name)

    def _level(self, name: str) -> float | None:
        return self._tick.levels.get(name)

    def _whole(self, name: str) -> int:
        return int(self._tick.levels.get(name, 0))

    def _ratio(self, name: str, below: float | None, factor: float = 1.0) -> float | None:
        above = self._sum(name)
        return None if above is None or not below else factor * above / below

    def _hist(self, name: str) -> Histogram:
        return self._tick.hist(self._prefix + name)


class _Throughput(_Reading):
    """What the load and the server's traffic have in common."""

    @cached_property
    def seconds(self) -> float:
        own = self._tick.sums.get(OWN + "seconds", 0.0)
        return own if self._prefix else self._tick.seconds

    def _rate(self, name: str) -> float:
        return self._ratio(name, self.seconds) or 0.0

    @property
    def transactions_per_second(self) -> float:
        return self._rate("completed")

    @property
    def queries_per_second(self) -> float:
        return self._rate("queries")

    @property
    def reads_per_second(self) -> float:
        return self._rate("reads")

    @property
    def writes_per_second(self) -> float:
        return self._rate("writes")

    @property
    def others_per_second(self) -> float:
        return self._rate("others")

    @cached_property
    def histogram(self) -> Histogram:
        """The latencies of the transactions, or of the traffic's statements."""
        return self._hist(RESPONSE)

    @cached_property
    def latency(self) -> Latency | None:
        return self.histogram.latency()


class LoadSample(_Throughput):
    """The load in the interval. `latency` and `statements` are empty if no transaction finished.

    `rate` is the target rate in transactions per second, 0 in a closed loop. In an open loop `latency` is the
    response time (from the scheduled start), `service` the time from the actual start, and `backlog` the
    number of transactions that are due but not started. `by_transaction` has the latency of each kind of
    transaction, and is empty if the profile has only one. `client_delay_ms` is the simulated network delay
    per round trip. `connections` are open, `threads` are requested. `errors` and `reconnects` are counts of
    the interval. `worker_cpu` is the busiest worker's share of one core (0 to 1); `lag_p99_ms` is its
    scheduling delay. `headline` is the profile's headline figure (see `Hello`), None without one.
    `connection_load` is None for a load without idle connections, planned logins and users. `hosts` are the
    hosts that drive the load, empty for this host alone.
    """

    def __init__(self, tick: Tick, prefix: str = "", hosts: tuple[LoadHost, ...] = ()) -> None:
        super().__init__(tick, prefix)
        self.hosts = hosts

    @property
    def threads(self) -> int:
        return self._whole("threads")

    @property
    def connections(self) -> int:
        return self._whole("connections")

    @property
    def rate(self) -> float:
        return self._level("rate") or 0.0

    @property
    def backlog(self) -> int:
        return self._whole("backlog")

    @property
    def client_delay_ms(self) -> float:
        return self._level("client_delay_ms") or 0.0

    @property
    def worker_cpu(self) -> float:
        return self._tick.peaks.get("worker_cpu", 0.0)

    @property
    def lag_p99_ms(self) -> float:
        return self._tick.peaks.get("lag_p99_ms", 0.0)

    @property
    def errors_per_second(self) -> float:
        return self._tick.errors / self.seconds if self.seconds else 0.0

    @property
    def errors_by_code(self) -> dict[str, int]:
        return {code: int(times) for code, times in self._tick.counts(ERROR).items()}

    @property
    def reconnects_per_second(self) -> float:
        return self._rate("reconnects")

    @cached_property
    def service(self) -> Latency | None:
        return self._hist(SERVICE).latency()

    @cached_property
    def statements(self) -> dict[str, Latency]:
        return _latencies(self._tick.named(self._prefix + STATEMENT))

    @cached_property
    def by_transaction(self) -> dict[str, Latency]:
        return _latencies(self._tick.named(self._prefix + TRANSACTION))

    @property
    def headline(self) -> float | None:
        return self._ratio("headline", self.seconds)

    @cached_property
    def connection_load(self) -> ConnectionSample | None:
        if self._level("idle_wanted") is None:
            return None
        return ConnectionSample(
            idle=self._whole("idle"),
            idle_wanted=self._whole("idle_wanted"),
            logins_per_second=self._rate("logins"),
            missed_logins_per_second=self._rate("missed_logins"),
            login=self._hist(LOGIN).latency(),
            users=self._whole("users"),
            waiting=self._whole("waiting"),
            wait=self._hist(WAIT).latency(),
        )


def _latencies(histograms: dict[str, Histogram]) -> dict[str, Latency]:
    found = {name: each.latency() for name, each in sorted(histograms.items())}
    return {name: latency for name, latency in found.items() if latency is not None}


class TrafficSample(_Throughput):
    """What the server's clients did in the interval, as counted by the server, without the session's own
    statements.

    Transactions are COMMIT statements; autocommitted statements count as queries only. `latency` is the
    latency of statements, from the upper ends of the server's buckets; it is None if the server has no
    distribution, and `latency_avg_ms` is None if it has no times at all. `latency_note` is the source of the
    times, or the reason why they are missing.
    """

    @property
    def rollbacks_per_second(self) -> float:
        return self._rate("rollbacks")

    @property
    def latency_avg_ms(self) -> float | None:
        return self._ratio("statement_ms", self._sum("timed"))

    @property
    def latency_note(self) -> str:
        return self._tick.missing.get("latency", "")


class ServerSample(_Reading):
    """Values of SHOW GLOBAL STATUS and SHOW GLOBAL VARIABLES. `max_connections` and `table_open_cache` are 0
    if the server does not provide them; the other figures are None if its status does not have them.

    Rates are None in the first sample after a connect, a restart or a FLUSH STATUS, and if the counter does
    not exist. `buffer_pool_hit` is a percentage (0 to 100). `counters` are the totals since the server's
    start, `growth` is their growth in the interval, by the server's names; `gauges` are current values.
    `unavailable` has the reason for each name that is in neither of them, unless the server's flavour does
    not have it.
    """

    def _gauge(self, name: str) -> int | None:
        value = self._level(name)
        return None if value is None else int(value)

    @property
    def seconds(self) -> float:
        """The time that the counters grew in; 0 without rates."""
        return self._tick.sums.get("server.seconds", 0.0)

    @property
    def uptime_seconds(self) -> int | None:
        return self._gauge(Counter.UPTIME)

    @property
    def threads_running(self) -> int | None:
        return self._gauge(Counter.THREADS_RUNNING)

    @property
    def threads_connected(self) -> int | None:
        return self._gauge(Counter.THREADS_CONNECTED)

    @property
    def max_connections(self) -> int:
        return self._whole("max_connections")

    @property
    def open_tables(self) -> int | None:
        return self._gauge(Counter.OPEN_TABLES)

    @property
    def table_open_cache(self) -> int:
        return self._whole("table_open_cache")

    @property
    def questions_total(self) -> int | None:
        return self._gauge(Counter.QUESTIONS)

    @property
    def slow_queries_total(self) -> int | None:
        return self._gauge(Counter.SLOW_QUERIES)

    @property
    def questions_per_second(self) -> float | None:
        return self.per_second(Counter.QUESTIONS)

    @property
    def slow_queries(self) -> int | None:
        grown = self._sum(Counter.SLOW_QUERIES)
        return None if grown is None else int(grown)

    @property
    def commits_per_second(self) -> float | None:
        return self.per_second(Counter.COM_COMMIT)

    @property
    def log_fsyncs(self) -> float | None:
        return first_known(LOG_FSYNCS, self._tick.sums)

    @property
    def log_fsyncs_per_second(self) -> float | None:
        return None if self.log_fsyncs is None or not self.seconds else self.log_fsyncs / self.seconds

    @property
    def log_fsyncs_per_transaction(self) -> float | None:
        done = self._tick.sums.get("server.completed")
        return None if self.log_fsyncs is None or not done else self.log_fsyncs / done

    @property
    def buffer_pool_hit(self) -> float | None:
        missed = self._ratio(Counter.POOL_READS, self._sum(Counter.POOL_READ_REQUESTS))
        return None if missed is None else max(0.0, 100 * (1 - missed))

    @property
    def row_lock_waits_per_second(self) -> float | None:
        return self.per_second(Counter.ROW_LOCK_WAITS)

    def per_second(self, counter: str) -> float | None:
        """The growth of a counter per second."""
        return self._ratio(counter, self.seconds)

    @cached_property
    def counters(self) -> dict[str, int]:
        return {name: int(value) for name, value in self._tick.levels.items() if name in CUMULATIVE_NAMES}

    @cached_property
    def growth(self) -> dict[str, int]:
        return {name: int(value) for name, value in self._tick.sums.items() if name in CUMULATIVE_NAMES}

    @cached_property
    def gauges(self) -> dict[str, int]:
        return {name: int(value) for name, value in self._tick.levels.items() if name in GAUGE_NAMES}

    @property
    def checkpoint_age(self) -> int | None:
        """Bytes of redo since the last checkpoint: reported by MariaDB; for MySQL, what was written since."""
        age, now = self._gauge(Counter.CHECKPOINT_AGE), self._gauge(Counter.REDO_LOG_CURRENT_LSN)
        checkpoint = self._gauge(Counter.REDO_LOG_CHECKPOINT_LSN)
        if age is not None or now is None or checkpoint is None:
            return age
        return now - checkpoint

    @property
    def unavailable(self) -> dict[str, str]:
        return {name: why for name, why in self._tick.missing.items() if name in COUNTER_NAMES}


COUNTER_NAMES = frozenset(map(str, Counter))


class HostSample(_Reading):
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

    def _percent(self, name: str, below: str = "core_seconds") -> float | None:
        share = self._ratio(name, self._sum(below), 100.0)
        return None if share is None else min(100.0, share)

    def _per_second(self, name: str) -> float | None:
        return self._ratio(name, self.seconds)

    def _gauge(self, name: str) -> int | None:
        value = self._level(self._prefix + name)
        return None if value is None else int(value)

    def _count(self, name: str) -> int | None:
        value = self._sum(name)
        return None if value is None else int(value)

    @property
    def seconds(self) -> float:
        return self._sum("seconds") or 0.0

    @property
    def cores(self) -> int:
        return self._gauge("cores") or 0

    @property
    def cpu_total(self) -> float:
        return self._percent("busy", "total") or 0.0

    @property
    def cpu_server(self) -> float | None:
        return self._percent("server_cpu")

    @property
    def cpu_tuibench(self) -> float:
        return self._percent("tuibench_cpu") or 0.0

    @property
    def cpu_rest(self) -> float:
        return max(0.0, self.cpu_total - (self.cpu_server or 0.0) - self.cpu_tuibench)

    @property
    def cpu_steal(self) -> float:
        return self._percent("steal", "total") or 0.0

    @property
    def cpu_throttled(self) -> float:
        return self._percent("throttled", "seconds") or 0.0

    @property
    def cpu_by_core(self) -> tuple[float, ...]:
        cores = range(self.cores)
        shares = [self._percent(f"core.{core}", "seconds") for core in cores]
        return tuple(round(share, 1) for share in shares if share is not None)

    @property
    def memory_used_bytes(self) -> int:
        return self._gauge("memory_used") or 0

    @property
    def memory_total_bytes(self) -> int:
        return self._gauge("memory_total") or 0

    @property
    def memory_server_bytes(self) -> int | None:
        return self._gauge("memory_server")

    @property
    def swap_used_bytes(self) -> int | None:
        return self._gauge("swap_used")

    @property
    def swap_total_bytes(self) -> int | None:
        return self._gauge("swap_total")

    @property
    def disk_read_bytes_per_second(self) -> float | None:
        return self._per_second("read_bytes")

    @property
    def disk_write_bytes_per_second(self) -> float | None:
        return self._per_second("written_bytes")

    @property
    def disk_read_ms(self) -> float | None:
        return self._ratio("read_ms", self._sum("reads"))

    @property
    def disk_write_ms(self) -> float | None:
        return self._ratio("write_ms", self._sum("writes"))

    @property
    def net_received_bytes_per_second(self) -> float | None:
        return self._per_second("received_bytes")

    @property
    def net_sent_bytes_per_second(self) -> float | None:
        return self._per_second("sent_bytes")

    @property
    def server_voluntary_switches(self) -> int | None:
        return self._count("voluntary_switches")

    @property
    def server_involuntary_switches(self) -> int | None:
        return self._count("involuntary_switches")

    @property
    def server_read_bytes(self) -> int | None:
        return self._count("server_read_bytes")

    @property
    def server_written_bytes(self) -> int | None:
        return self._count("server_written_bytes")

    @property
    def cpu_limit(self) -> float | None:
        return self._level(self._prefix + "cpu_limit")

    @property
    def memory_limit_bytes(self) -> int | None:
        return self._gauge("memory_limit")

    @property
    def note(self) -> str:
        """Why the server's process is not in the figures."""
        return self._tick.missing.get(self._prefix + "server_cpu", "")

    @property
    def origin(self) -> str:
        return self._tick.missing.get(self._prefix + "local", "")


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


class Sample(msgspec.Struct, frozen=True, tag="sample", kw_only=True, omit_defaults=True, dict=True):
    """One sample: scheduled for `elapsed_seconds` after the start of the load, and `late_ms` late.

    `load` is the session's own load, `traffic` the work of the server for all of its clients. A session has
    one of them, or both if it `shows_traffic` and has a load. `host` is the server's host; `host_note` is
    the reason why it is missing, if another host was to be read. `client_host` is this host if the server is
    on another one. `replicas` are the replicas that the session reads, `hosts` the hosts that drive the
    load, empty for this host alone. `slowest` are the slowest transactions; the record keeps the first one.
    """

    number: int
    at: float
    late_ms: float
    tick: Tick
    shows_traffic: bool = False
    slowest: tuple[SlowTransaction, ...] = ()
    replicas: tuple[ReplicaSample, ...] = ()
    hosts: tuple[LoadHost, ...] = ()

    @property
    def elapsed_seconds(self) -> float:
        return self.tick.end

    @cached_property
    def load(self) -> LoadSample | None:
        prefix = OWN if self.shows_traffic else ""
        return LoadSample(self.tick, prefix, self.hosts) if "threads" in self.tick.levels else None

    @cached_property
    def traffic(self) -> TrafficSample | None:
        return TrafficSample(self.tick) if self.shows_traffic and "completed" in self.tick.sums else None

    @cached_property
    def server(self) -> ServerSample | None:
        return ServerSample(self.tick) if "max_connections" in self.tick.levels else None

    @cached_property
    def host(self) -> HostSample | None:
        return HostSample(self.tick, HOST) if HOST + "seconds" in self.tick.sums else None

    @cached_property
    def client_host(self) -> HostSample | None:
        return HostSample(self.tick, CLIENT) if CLIENT + "seconds" in self.tick.sums else None

    @property
    def host_note(self) -> str:
        return self.tick.missing.get("host", "")

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
