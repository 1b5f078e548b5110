"""One sample of a session: its tick, and what does not add up: slow transactions, replicas, hosts."""

from collections.abc import Iterable
from functools import cached_property
from itertools import groupby

import msgspec

from tuibench.model.cluster import LoadHost
from tuibench.model.tick import CLIENT, HOST, RESPONSE, Latency, Tick


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

    `load`, `traffic`, `server`, `host` and `client_host` are the tick for the figures of that source (see
    `metrics.figures`), None if it was not measured. `load` is the session's own load, `traffic` the work of
    the server for all of its clients: COMMIT statements, and queries with those that are autocommitted. A
    session has one of them, or both if it `shows_traffic` and has a load. `host` is the server's host;
    `host_note` is the reason why it is missing, if another host was to be read. `client_host` is this host if
    the server is on another one. `replicas` are the replicas that the session reads, `hosts` the hosts that
    drive the load, empty for this host alone. `slowest` are the slowest transactions; the record keeps the
    first one.
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
    def load(self) -> Tick | None:
        if "threads" not in self.tick.levels:
            return None
        return self.tick.own if self.shows_traffic else self.tick

    @property
    def traffic(self) -> Tick | None:
        return self.tick if self.shows_traffic and "completed" in self.tick.sums else None

    @property
    def server(self) -> Tick | None:
        return self.tick if "max_connections" in self.tick.levels else None

    @property
    def host(self) -> Tick | None:
        return self.tick if HOST + "seconds" in self.tick.sums else None

    @cached_property
    def client_host(self) -> Tick | None:
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
