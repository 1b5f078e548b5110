"""The server's own traffic: the statements of its clients between two readings of the status.

All clients are counted together. The session's own statements are subtracted: all of them from the queries,
its SELECT statements from the reads.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from tuibench.metrics.histogram import Histogram, coarse_histogram
from tuibench.metrics.series.rates import CounterInterval
from tuibench.model.counters import COMMITS, READS, ROLLBACKS, WRITES, Counter
from tuibench.model.measurements.sample import TrafficSample
from tuibench.observe.server.statement_times import TimedInterval


class OwnStatements(NamedTuple):
    """Statements that the session had sent at a reading: all, and SELECT only."""

    statements: int = 0
    selects: int = 0


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of one interval. `latency` is None if the server keeps no distribution of times."""

    seconds: float
    commits: int = 0
    rollbacks: int = 0
    queries: int = 0
    reads: int = 0
    writes: int = 0
    latency: Histogram | None = None
    latency_avg_ms: float | None = None
    latency_note: str = ""

    @property
    def others(self) -> int:
        """Queries that are neither reads nor writes."""
        return max(0, self.queries - self.reads - self.writes)

    def sample(self, transactions_total: int) -> TrafficSample:
        """The figures of a tick."""
        seconds = self.seconds or 1e-9
        return TrafficSample(
            seconds=self.seconds,
            transactions_per_second=self.commits / seconds,
            rollbacks_per_second=self.rollbacks / seconds,
            queries_per_second=self.queries / seconds,
            reads_per_second=self.reads / seconds,
            writes_per_second=self.writes / seconds,
            others_per_second=self.others / seconds,
            transactions_total=transactions_total,
            latency=self.latency.latency() if self.latency is not None else None,
            latency_avg_ms=self.latency_avg_ms,
            latency_note=self.latency_note,
            latency_buckets=coarse_histogram(self.latency) if self.latency is not None else None,
        )


def traffic_in(interval: CounterInterval, own: OwnStatements, times: TimedInterval) -> Traffic:
    """The clients' traffic of an interval; `own` is what the session itself sent in it."""
    deltas = interval.deltas
    return Traffic(
        seconds=interval.seconds,
        commits=_sum(COMMITS, deltas),
        rollbacks=_sum(ROLLBACKS, deltas),
        queries=max(0, deltas.get(Counter.QUESTIONS, 0) - own.statements),
        reads=max(0, _sum(READS, deltas) - own.selects),
        writes=_sum(WRITES, deltas),
        latency=times.histogram,
        latency_avg_ms=times.average_ms,
        latency_note=times.note,
    )


def _sum(counters: tuple[Counter, ...], deltas: Mapping[str, int]) -> int:
    return sum(deltas.get(counter, 0) for counter in counters)
