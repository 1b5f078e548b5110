"""What is found about a run: findings and their evidence, headline, costs of operations, stalls, crashes.

A preflight check, the diagnosis of a run and that of a probe's step all result in a `Finding`.
`Resource` is the table of the resources that an operation costs, with name, unit and source.
"""

from collections.abc import Collection
from enum import StrEnum
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from tuibench.base.errors import ExitCode, TuibenchError


class Severity(StrEnum):
    """Severity of a finding."""

    OK = "ok"
    NOTE = "note"
    """Worth knowing."""
    WARNING = "warning"
    """To be fixed."""
    NEXT = "next"
    """To be done before a run: tables do not exist yet."""
    STOP = "stop"
    """A reason not to start a run."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A fact about server, host or measurement, with its remedy."""

    id: str
    severity: Severity
    found: str
    """What was found, with figures."""
    remedy: str = ""
    """How to fix it: a statement, option or command."""
    evidence: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Finding and remedy in one line."""
        return f"{self.found}: {self.remedy}" if self.remedy else self.found


def ok(id: str, found: str) -> Finding:
    return Finding(id=id, severity=Severity.OK, found=found)


def note(id: str, found: str, remedy: str = "") -> Finding:
    return Finding(id=id, severity=Severity.NOTE, found=found, remedy=remedy)


def warning(id: str, found: str, remedy: str = "") -> Finding:
    return Finding(id=id, severity=Severity.WARNING, found=found, remedy=remedy)


def next_step(id: str, found: str, remedy: str) -> Finding:
    return Finding(id=id, severity=Severity.NEXT, found=found, remedy=remedy)


def stop(id: str, found: str, remedy: str = "") -> Finding:
    return Finding(id=id, severity=Severity.STOP, found=found, remedy=remedy)


def not_visible(id: str, what: str, remedy: str = "") -> Finding:
    """A finding for something that the login has no privilege to read."""
    return note(id, f"not visible to this login: {what}", remedy)


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Means of client, server and host during a run or a step of a probe; None if not measured.

    CPU figures are percent of the whole host.
    """

    threads: float = 0.0
    connections: int = 0
    rate: float = 0.0
    """The target rate; 0 without one."""
    is_rate_met: bool = False
    """True if the target rate was reached."""
    backlog: int = 0
    client_limited_share: float = 0.0
    """The share of samples in which the client was the bottleneck."""
    worker_cpu: float = 0.0
    """The busiest worker's share of one core."""
    lag_ms: float = 0.0
    """The busiest worker's largest scheduling delay."""
    usual_lag_ms: float = 0.0
    """The median of that delay over the samples."""
    network_share: float | None = None
    """The network's share of the transactions' time, 0 to 1."""
    cpu_total: float | None = None
    cpu_server: float | None = None
    cpu_tuibench: float | None = None
    cpu_others: float | None = None
    """CPU used by other programs; None if the server's is unknown."""
    threads_running: float | None = None
    """Threads running in the server, without tuibench's own reading."""
    in_flight: float | None = None
    """Transactions in flight."""
    outside_ms: float | None = None
    """How long a query is neither in the server nor on a network of the known round trip."""
    lock_waiters: float | None = None
    """Threads that waited for a row lock at the same time."""
    commit_share: float | None = None
    """COMMIT's share of the transactions' time, 0 to 1."""
    log_fsyncs_per_transaction: float | None = None
    log_waits_per_second: float | None = None
    table_misses_percent: float | None = None
    open_tables: int | None = None
    table_open_cache: int | None = None
    buffer_pool_hit: float | None = None
    disk_reads_per_transaction: float | None = None
    foreign_percent: float | None = None
    """The share of statements by other clients."""


class Headline(msgspec.Struct, frozen=True, kw_only=True):
    """The headline figure of a profile: the rate of one kind of transaction, such as tpmC.

    In a summary it has the value of the run.
    """

    title: str
    transaction: str
    per_seconds: float = 60.0
    """The figure counts transactions per so long a time: 60 for a figure per minute."""
    note: str = ""
    """Shown after the title: not audited."""
    ideal: float | None = None
    """The maximum; None if unknown."""
    doubt: str = ""
    """The reason why the efficiency is not meaningful in this run."""
    value: float = 0.0
    efficiency: float | None = None
    """Percent of the ideal."""

    @property
    def name(self) -> str:
        """Title and note: tpmC (not audited)."""
        return f"{self.title} ({self.note})" if self.note else self.title

    def rate(self, count: int, seconds: float) -> float:
        """The figure for `count` transactions in `seconds`."""
        return count / seconds * self.per_seconds if seconds > 0 else 0.0

    def measured(self, count: int, seconds: float) -> Self:
        """With the value of a run."""
        value = self.rate(count, seconds)
        return replace(self, value=value, efficiency=100 * value / self.ideal if self.ideal else None)


class ResourceUnit(StrEnum):
    """A resource's unit."""

    MICROSECONDS = "µs"
    BYTES = "bytes"
    COUNT = "count"


class ResourceFacts(msgspec.Struct, frozen=True):
    """One row of the table."""

    name: str
    label: str
    unit: ResourceUnit
    why: str
    """The usual reason for a missing value."""


_HOST = (
    "the server's process cannot be read: the screen Host shows the reason; on another host "
    "--host-metrics=ssh:HOST helps"
)
_DISK = (
    "only root and the user of the server's process may read this; on another host "
    "--host-metrics=ssh:HOST helps"
)
_COUNTER = "not counted by this server"
_US, _BYTES, _COUNT = ResourceUnit.MICROSECONDS, ResourceUnit.BYTES, ResourceUnit.COUNT


class Resource(StrEnum):
    """All resources that are measured."""

    facts: ResourceFacts

    def __new__(cls, facts: ResourceFacts) -> Self:
        member = str.__new__(cls, facts.name)
        member._value_ = facts.name
        member.facts = facts
        return member

    SERVER_CPU = ResourceFacts("server_cpu_us", "server CPU", _US, _HOST)
    HOST_CPU = ResourceFacts(
        "host_cpu_us", "CPU of its host", _US, "known only for another host without figures of its processes"
    )
    CLIENT_CPU = ResourceFacts("client_cpu_us", "client CPU", _US, "no load, or its host cannot be read")
    VOLUNTARY_SWITCHES = ResourceFacts("voluntary_switches", "voluntary switches", _COUNT, _HOST)
    INVOLUNTARY_SWITCHES = ResourceFacts("involuntary_switches", "involuntary switches", _COUNT, _HOST)
    DISK_READS = ResourceFacts("disk_reads", "InnoDB reads", _COUNT, _COUNTER)
    DISK_READ_BYTES = ResourceFacts("disk_read_bytes", "disk read", _BYTES, _DISK)
    DISK_WRITES = ResourceFacts("disk_writes", "InnoDB writes", _COUNT, _COUNTER)
    DISK_WRITTEN_BYTES = ResourceFacts("disk_written_bytes", "disk written", _BYTES, _DISK)
    FSYNCS = ResourceFacts("log_fsyncs", "log fsyncs", _COUNT, _COUNTER)
    REDO_BYTES = ResourceFacts("redo_bytes", "redo", _BYTES, _COUNTER)
    BINLOG_BYTES = ResourceFacts("binlog_bytes", "binlog", _BYTES, "not counted, or the binary log is off")
    NETWORK_BYTES = ResourceFacts("network_bytes", "network", _BYTES, _COUNTER)


class ResourceUse(msgspec.Struct, frozen=True, kw_only=True):
    """Resources used in an interval, by name; an unknown resource is absent."""

    used: dict[str, float] = {}
    transactions: dict[str, float] = {}
    """The transactions over which each resource was measured: a gap in the host's figures is not a gap in the
    counters.
    """
    queries: dict[str, float] = {}
    """The same for queries."""


class OperationCost(msgspec.Struct, frozen=True, kw_only=True):
    """Resources per transaction and per query, by the names of `Resource`; an unknown resource is absent."""

    per_transaction: dict[str, float] = {}
    per_query: dict[str, float] = {}


class StallConditions(msgspec.Struct, frozen=True, kw_only=True):
    """State of server and disk during a stall, in its worst sample; None if unknown."""

    is_answered: bool = True
    """False if the server did not answer the sampler."""
    checkpoint_age_percent: float | None = None
    """Percent of the redo log's capacity."""
    dirty_bytes: int | None = None
    disk_write_ms: float | None = None
    """The time of a write."""
    log_fsyncs_per_second: float | None = None
    row_lock_waits: int | None = None
    """Transactions that waited for a row lock at the same time."""
    log_waits: int | None = None
    """Waits for space in the log buffer."""
    free_page_waits: int | None = None
    """Waits for a free page in the buffer pool."""


class Culprit(msgspec.Struct, frozen=True, kw_only=True):
    """What kept the transactions of a stall from going on: the holder of a lock, or another cause."""

    connection: int | None = None
    """None if it is no connection; 0 for a prepared XA transaction, which has none."""
    who: str = ""
    """User and host."""
    doing: str = ""
    """What the connection did for the longest time: idle in transaction, executing; empty if unknown."""
    lock: str = ""
    """The kind of the lock, with its table or name unless it is a row lock."""
    blocked: int = 0
    """The largest number of connections that waited for it at the same time."""
    statement: str = ""
    """The statement that it executed, or the last one; empty if the server does not tell."""
    is_probable: bool = False
    """True if the server does not name the holder, so that it was inferred from the list of sessions."""
    cause: str = ""
    """The cause in words if it is no connection."""

    @property
    def is_idle(self) -> bool:
        return self.doing.startswith("idle")

    @property
    def name(self) -> str:
        """Who it is: session 41 (idle in transaction); the cause if it is no connection."""
        if self.connection is None:
            return self.cause
        what = ", ".join(filter(None, (self.doing, self.lock.removeprefix("row lock"))))
        maybe = "probably " if self.is_probable else ""
        details = f" ({what})" if what else ""
        return f"{maybe}session {self.connection}{details}"

    @property
    def text(self) -> str:
        """In a few words: session 41 (idle in transaction) blocked 10."""
        return self.cause if self.connection is None else f"{self.name} blocked {self.blocked:,}"


class Stall(msgspec.Struct, frozen=True):
    """A period in which no transaction was completed, in seconds from the start of the run."""

    start_seconds: float
    end_seconds: float
    conditions: StallConditions | None = None
    errors: dict[str, int] = {}
    """Failed statements by code in the samples of that time."""
    recovery_seconds: float | None = None
    """The time from its end to the end of the first sample with 90 % of the TPS before; None if that was not
    reached.
    """
    unknown_commits: int = 0
    """Commits whose connection was lost before the answer."""
    culprit: Culprit | None = None
    """Who or what caused it; None if unknown."""

    @property
    def seconds(self) -> float:
        return self.end_seconds - self.start_seconds


class Steadiness(msgspec.Struct, frozen=True, kw_only=True):
    """TPS of single seconds (of samples, if these are longer), and all stalls in chronological order. Pauses
    are excluded.
    """

    p1: float
    p50: float
    p99: float
    variation: float | None
    """The coefficient of variation: standard deviation divided by mean. None without throughput."""
    longest_stall_seconds: float
    stalls: tuple[Stall, ...]


class Mean(msgspec.Struct, frozen=True, kw_only=True):
    """The mean of several runs or steps."""

    mean: float
    half_width: float | None
    """Of its 95 % interval; None if unknown."""
    count: int
    """The number of runs or steps."""


class CommitFates(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the transactions of a crash."""

    acknowledged: int
    lost: int
    """Transactions that were acknowledged and are gone."""
    lost_seconds: float
    """The time from the first lost transaction to the crash."""
    unknown: int
    """Transactions that had no answer to COMMIT when the server ended."""
    unknown_committed: int
    """Those of the unknown ones that are committed."""
    unexplained: int
    """Transactions that are committed, although their COMMIT was not sent, or was refused."""


class BinlogAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """Transactions that the binary log and the tables do not both have after the recovery."""

    only_in_binlog: int
    only_in_tables: int

    @classmethod
    def of(cls, logged: Collection[Any], present: Collection[Any]) -> Self:
        return cls(
            only_in_binlog=len(set(logged) - set(present)), only_in_tables=len(set(present) - set(logged))
        )


class Crash(msgspec.Struct, frozen=True, kw_only=True):
    """One crash: the settings, the load before, the commits, and the recovery in seconds since the crash."""

    setting: str
    """The setting in which the crashes differ."""
    repeat: int
    values: dict[str, str]
    """What the server reports for the settings that matter."""
    tps: float
    """Transactions with a write, per second before the crash."""
    ledger_share: float
    """The share of the transactions' time that the ledger's own statement takes."""
    commits: CommitFates
    accepts_seconds: float
    first_commit_seconds: float | None
    """None if the time ran out."""
    recovered_seconds: float | None
    """None if the time ran out."""
    binlog: BinlogAgreement | None
    """None without a readable binary log."""
    binlog_note: str = ""
    """Why there is no readable binary log."""


class CrashReport(msgspec.Struct, frozen=True, kw_only=True):
    """All crashes of a command, in chronological order, with the server and the load."""

    server: str
    profile: str
    data: str
    threads: int
    seconds: float
    limited: str
    is_power_loss: bool
    """False if only the server's process was killed."""
    seed: int
    planned: int
    crashes: tuple[Crash, ...]


class ErrorMessage(msgspec.Struct, frozen=True, tag="failed"):
    """The result of a step in another process: an error, or success if the message is empty."""

    message: str = ""
    hint: str = ""
    exit_code: int = ExitCode.RUN_FAILED

    def __bool__(self) -> bool:
        return bool(self.message)

    @classmethod
    def of(cls, error: TuibenchError) -> "ErrorMessage":
        return cls(error.full_message, error.hint, error.exit_code)

    @property
    def error(self) -> TuibenchError:
        """The error again."""
        error = TuibenchError(self.message, self.hint)
        error.exit_code = ExitCode(self.exit_code)
        return error
