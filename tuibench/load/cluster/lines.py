"""Hosts in the session's output: one line each per tick, and messages about lost hosts."""

from typing import NamedTuple

from msgspec.structs import replace

from tuibench.clock import NS_PER_MS
from tuibench.diagnosis.measurement_warnings import cpu_of_host
from tuibench.load.cluster.host import HostLink
from tuibench.load.cluster.merging import busy_share
from tuibench.load.worker_report import WorkerReport
from tuibench.load.workers.link import WorkerGoneError
from tuibench.load.workers.replacement import Loss, loss_of
from tuibench.model.cluster.host import HostState, LoadHost
from tuibench.model.histogram import US_PER_MS
from tuibench.model.tick import HOST
from tuibench.units import pluralize

MS_PER_SECOND = 1000.0


class LostHost(NamedTuple):
    """A lost host, with the time of the loss."""

    host: HostLink
    at_ns: int

    @property
    def line(self) -> LoadHost:
        return LoadHost(name=self.host.label, state=HostState.LOST, cores=self.host.hello.cores)


class HostLoss(Loss, frozen=True, kw_only=True):
    """A lost host. `reason` begins with its name."""

    reason: str
    seconds: float

    @classmethod
    def of(
        cls,
        host: HostLink,
        error: WorkerGoneError,
        known: WorkerReport | None,
        connections: int,
        seconds: float,
    ) -> "HostLoss":
        """Creates it; `seconds` is the time until the other hosts take over."""
        abandoned = loss_of(host.name, known).abandoned if known is not None else 0
        return cls(
            name=host.name,
            connections=connections,
            abandoned=abandoned,
            reason=error.message,
            seconds=seconds,
        )

    @property
    def is_host(self) -> bool:
        return True

    @property
    def event(self) -> str:
        return (
            f"{self.reason}; its load ends within {self.seconds:g} s, then the other hosts open "
            f"{pluralize(self.connections, 'connection')} for it; "
            f"{pluralize(self.abandoned, 'transaction')} in flight and its work since its last report "
            "are not counted"
        )

    @property
    def warning(self) -> str:
        return f"incomplete: {self.reason}; its work after its last report is not counted"


def host_line(host: HostLink) -> LoadHost:
    """The present state of a host, with the figures of its last report."""
    best = host.offset.best
    line = LoadHost(
        name=host.label,
        state=HostState.SILENT if host.is_unresponsive else HostState.RUNNING,
        cores=host.hello.cores,
        clock_offset_ms=best.wall_offset_seconds * MS_PER_SECOND,
        clock_error_ms=best.round_trip_ns / 2 / NS_PER_MS,
        round_trip_ms=host.offset.recent_round_trip_ns / NS_PER_MS,
    )
    if host.is_unresponsive or host.latest is None:
        return line
    report, tick = host.latest.report, host.latest.sample
    usage = cpu_of_host(host.label, tick.moved("", HOST)) if tick else None
    p95_us = host.latest.latencies.p95_us
    return replace(
        line,
        connections=report.connections,
        transactions_per_second=host.transactions_per_second,
        p95_ms=None if p95_us is None else p95_us / US_PER_MS,
        workers=host.latest.workers,
        worker_cpu=busy_share(report),
        lag_p99_ms=report.lag_p99_ms,
        cpu_total=usage.total if usage else None,
        cpu_others=usage.others if usage else None,
        cpu_steal=usage.steal if usage else None,
        cpu_throttled=usage.throttled if usage else None,
    )
