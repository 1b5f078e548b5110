"""Replacement of a worker process that ended unexpectedly: losses, and whether it is possible.

    running ──killed──> gone ──> its last report is closed (`closed`) ──> a new worker with its connections

A worker reports once per tick, so its work since the last report is not counted. Transactions that were in
flight or due at that report are abandoned; its connections count as lost and reconnected.
"""

from typing import Any

import msgspec

from tuibench.load.worker_report import WorkerReport
from tuibench.metrics.histogram import Histogram
from tuibench.units import pluralize
from tuibench.workload.program.program import Program
from tuibench.workload.program.values import Serial

SEED_STEP = 1_000_003
"""Added to the seed at every replacement: a restarted stream would repeat its values."""


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """A worker process that ended, by its name, and the known losses."""

    name: str
    connections: int
    abandoned: int

    @property
    def is_host(self) -> bool:
        """Whether an entire host was lost: it is not replaced immediately."""
        return False

    @property
    def event(self) -> str:
        """The message to the operator."""
        return (
            f"{self.name} ended unexpectedly: another worker opens its "
            f"{pluralize(self.connections, 'connection')} again; {pluralize(self.abandoned, 'transaction')} "
            "in flight and its work since its last report are lost"
        )

    @property
    def warning(self) -> str:
        """The message in the summary."""
        return (
            f"incomplete: {self.name} ended unexpectedly and was replaced; its work "
            "after its last report is not counted"
        )


def loss_of(name: str, report: WorkerReport) -> Loss:
    """The losses of a worker whose last report was this one."""
    counters = report.counters
    return Loss(name=name, connections=report.connections, abandoned=counters.in_flight + counters.backlog)


def closed(report: WorkerReport) -> WorkerReport:
    """The final report of a dead worker: nothing is in flight, and no further work was done."""
    counters = msgspec.structs.replace(
        report.counters,
        abandoned=report.counters.abandoned + report.counters.in_flight + report.counters.backlog,
        reconnects=report.counters.reconnects + report.connections,
        in_flight=0,
        backlog=0,
    )
    return msgspec.structs.replace(
        report,
        seconds=0.0,
        cpu_seconds=0.0,
        lag_p99_ms=0.0,
        connections=0,
        counters=counters,
        transactions=Histogram(),
        service=Histogram(),
        statements={},
        by_transaction={},
        gaps=report.gaps.closed(),
    )


def can_begin_again(program: Program) -> bool:
    """False for a program with serial numbers: a new process would start them again."""
    return not _holds(program, Serial)


def _holds(value: Any, kind: type) -> bool:
    """Whether a value is of a type, or contains a value of it."""
    if isinstance(value, kind):
        return True
    if isinstance(value, msgspec.Struct):
        return any(_holds(getattr(value, name), kind) for name in value.__struct_fields__)
    if isinstance(value, dict):
        return any(_holds(each, kind) for each in value.values())
    return isinstance(value, list | tuple) and any(_holds(each, kind) for each in value)
