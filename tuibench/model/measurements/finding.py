"""Findings about server, host and measurement, and the evidence for the diagnosis of a bottleneck.

A preflight check, a diagnosis of a run and one of a probe's step all result in a `Finding`.
"""

from enum import StrEnum

import msgspec


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
