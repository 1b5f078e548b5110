"""Findings about a run: bottlenecks, headline, costs of operations, steadiness.

Findings about server, host and measurement, and the evidence for the diagnosis of a bottleneck.

A preflight check, a diagnosis of a run and one of a probe's step all result in a `Finding`.

Headline figure of a profile: the rate of one kind of transaction, such as tpmC.

Cost of an operation: the resources that a query and a transaction use, on server and client.

`Resource` is the table of measured resources, with name, unit and source.

Steadiness of a run's throughput, and its stalls.

Crashes of a private server: what became of the commits, and the recovery.

Errors as one process reports them to another.
"""

from collections.abc import Collection
from enum import StrEnum
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from tuibench.errors import ExitCode, TuibenchError


class Severity(StrEnum):
    """Severity of a finding: fine, worth knowing, to be fixed, to be done before a run (tables that do not
    exist yet), or a reason not to start a run.
    """

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    NEXT = "next"
    STOP = "stop"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, with figures; how to fix it (a statement, option or command); the evidence."""

    id: str
    severity: Severity
    found: str
    remedy: str = ""
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

    CPU figures are percent of the whole host; `cpu_others` is the CPU used by other programs, None if the
    server's share is unknown. `client_limited_share` is the share of samples in which the client was the
    bottleneck, `worker_cpu` the busiest worker's share of one core, `lag_ms` its largest scheduling delay and
    `usual_lag_ms` that of half of the samples.
    `rate` is the target rate, 0 without one, and `is_rate_met` is True if it was reached. `lock_waiters` is
    the number of threads that waited for a row lock at the same time. `commit_share` and `network_share` are
    shares (0 to 1) of the transactions' time. `in_flight` is the number of transactions in flight,
    `threads_running` that of threads in the server, without our own reading, `outside_ms` how long a query is
    neither in the server nor on a network of the known round trip. `foreign_percent` is the share of
    statements by other clients.
    """

    threads: float = 0.0
    connections: int = 0
    rate: float = 0.0
    is_rate_met: bool = False
    backlog: int = 0
    client_limited_share: float = 0.0
    worker_cpu: float = 0.0
    lag_ms: float = 0.0
    usual_lag_ms: float = 0.0
    network_share: float | None = None
    cpu_total: float | None = None
    cpu_server: float | None = None
    cpu_tuibench: float | None = None
    cpu_others: float | None = None
    threads_running: float | None = None
    in_flight: float | None = None
    outside_ms: float | None = None
    lock_waiters: float | None = None
    commit_share: float | None = None
    log_fsyncs_per_transaction: float | None = None
    log_waits_per_second: float | None = None
    table_misses_percent: float | None = None
    open_tables: int | None = None
    table_open_cache: int | None = None
    buffer_pool_hit: float | None = None
    disk_reads_per_transaction: float | None = None
    foreign_percent: float | None = None


class Headline(msgspec.Struct, frozen=True, kw_only=True):
    """The headline figure: completed transactions of the kind `transaction` per `per_seconds` seconds.

    `note` is shown after the title ("not audited"). `ideal` is the maximum, None if unknown; `doubt` is the
    reason why the efficiency is not meaningful in this run. In a summary it has the `value` of the run, and
    its `efficiency`, which is percent of the ideal.
    """

    title: str
    transaction: str
    per_seconds: float = 60.0
    note: str = ""
    ideal: float | None = None
    doubt: str = ""
    value: float = 0.0
    efficiency: float | None = None

    @property
    def name(self) -> str:
        """Title and note: tpmC (not audited)."""
        return f"{self.title} ({self.note})" if self.note else self.title

    def rate(self, count: int, seconds: float) -> float:
        """The figure for this many transactions in this many seconds."""
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
    """One row of the table. `why` is the usual reason for a missing value."""

    name: str
    label: str
    unit: ResourceUnit
    why: str


_HOST = (
    "the server's process cannot be read: screen 4 shows the reason; on another host "
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
    """Resources used in an interval, by the operations done in it. An unknown resource is absent.

    `transactions` and `queries` are those over which each resource was measured: a gap in the host's figures
    is not a gap in the counters.
    """

    used: dict[str, float] = {}
    transactions: dict[str, float] = {}
    queries: dict[str, float] = {}


class OperationCost(msgspec.Struct, frozen=True, kw_only=True):
    """Resources per transaction and per query, by the names of `Resource`; an unknown resource is absent."""

    per_transaction: dict[str, float] = {}
    per_query: dict[str, float] = {}


class StallConditions(msgspec.Struct, frozen=True, kw_only=True):
    """State of server and disk during a stall, in its worst sample; None if unknown.

    `is_answered` is False if the server did not answer the sampler. The checkpoint age is a percentage of the
    redo log's capacity, `disk_write_ms` the time of a write, `row_lock_waits` the number of transactions that
    waited for a row lock at the same time. `log_waits` (for space in the log buffer) and `free_page_waits`
    (for a free page in the buffer pool) are counts.
    """

    is_answered: bool = True
    checkpoint_age_percent: float | None = None
    dirty_bytes: int | None = None
    disk_write_ms: float | None = None
    log_fsyncs_per_second: float | None = None
    row_lock_waits: int | None = None
    log_waits: int | None = None
    free_page_waits: int | None = None


class Stall(msgspec.Struct, frozen=True):
    """A period in which no transaction was completed, in seconds from the start of the run.

    `errors` are the failed statements by code in the samples of that time. `recovery_seconds` is the time
    from its end to that of the first sample with 90 % of the TPS before; None if that was not reached.
    `unknown_commits` were sent, and their connection was lost before the answer.
    """

    start_seconds: float
    end_seconds: float
    conditions: StallConditions | None = None
    errors: dict[str, int] = {}
    recovery_seconds: float | None = None
    unknown_commits: int = 0

    @property
    def seconds(self) -> float:
        return self.end_seconds - self.start_seconds


class Steadiness(msgspec.Struct, frozen=True, kw_only=True):
    """TPS of single seconds (of samples, if these are longer), and all stalls in chronological order.

    `variation` is the coefficient of variation (standard deviation divided by mean), None without throughput.
    Pauses are excluded.
    """

    p1: float
    p50: float
    p99: float
    variation: float | None
    longest_stall_seconds: float
    stalls: tuple[Stall, ...]


class Mean(msgspec.Struct, frozen=True, kw_only=True):
    """The mean of `count` runs or steps; `half_width` of its 95 % interval, None if unknown."""

    mean: float
    half_width: float | None
    count: int


class CommitFates(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the transactions of a crash.

    `lost` were acknowledged and are gone, `lost_seconds` is the time from the first of them to the crash.
    `unknown` had no answer to COMMIT when the server ended; `unknown_committed` of them are committed.
    `unexplained` are committed, but their COMMIT was not sent, or refused.
    """

    acknowledged: int
    lost: int
    lost_seconds: float
    unknown: int
    unknown_committed: int
    unexplained: int


class BinlogAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """Committed transactions that only one of binary log and tables has after the recovery."""

    only_in_binlog: int
    only_in_tables: int

    @classmethod
    def of(cls, logged: Collection[Any], present: Collection[Any]) -> Self:
        return cls(
            only_in_binlog=len(set(logged) - set(present)), only_in_tables=len(set(present) - set(logged))
        )


class Crash(msgspec.Struct, frozen=True, kw_only=True):
    """One crash: the settings, the load before, the commits, and the recovery in seconds since the crash.

    `setting` is what the crashes differ in, `values` are what the server reports for the settings that
    matter. `tps` are transactions with a write, per second before the crash. `ledger_share` is the share of
    their time that the ledger's own statement takes. `binlog` is None without a readable binary log;
    `binlog_note` says why. `first_commit_seconds` and `recovered_seconds` are None if the time ran out.
    """

    setting: str
    repeat: int
    values: dict[str, str]
    tps: float
    ledger_share: float
    commits: CommitFates
    accepts_seconds: float
    first_commit_seconds: float | None
    recovered_seconds: float | None
    binlog: BinlogAgreement | None
    binlog_note: str = ""


class CrashReport(msgspec.Struct, frozen=True, kw_only=True):
    """All crashes of a command, in the order of time, with the server and the load.

    `is_power_loss` is False if only the server's process was killed.
    """

    server: str
    profile: str
    data: str
    threads: int
    seconds: float
    limited: str
    is_power_loss: bool
    seed: int
    planned: int
    crashes: tuple[Crash, ...]


class ErrorMessage(msgspec.Struct, frozen=True, tag="failed"):
    """An error as one process reports it to another; without a message there is none."""

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
