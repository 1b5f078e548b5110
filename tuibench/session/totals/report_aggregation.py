"""Adds up what the workers report: the load part of a sample at every tick, checkpoints, the run's totals.

What the workers reported over a stretch of time, added up: counts, histograms, and the rates of it.

Most workers report in every round. One that was silent covers more than the stretch when it answers, one that
is new covers less: neither says how long the stretch was, as long as there are others.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

import msgspec

from tuibench.load.completion_gaps import CompletionGaps, GapsOfWorkers
from tuibench.load.worker_report import Counters, FairnessStats, WorkerReport
from tuibench.metrics.histogram import Histogram, coarse_histogram
from tuibench.model.measurements.sample import (
    ConnectionSample,
    Latency,
    LoadSample,
    SlowTransaction,
    slowest_of,
)
from tuibench.record.files.recorder import TickDetail
from tuibench.record.files.schema import TickCounts
from tuibench.record.sysbench_report import IntervalCounts

NO_TIME = 1e-9


class WorkerShare(msgspec.Struct):
    """One worker's part: what its counters grew by, the seconds that took, and what its busiest thread burnt.

    `steady_seconds` are those of the reports that followed on one in the round before. `all_cpu_seconds` is
    what all of its threads burnt.
    """

    grown: Counters
    seconds: float = 0.0
    steady_seconds: float = 0.0
    cpu_seconds: float = 0.0
    all_cpu_seconds: float = 0.0

    def include(self, other: "WorkerShare") -> None:
        self.grown = self.grown + other.grown
        self.seconds += other.seconds
        self.steady_seconds += other.steady_seconds
        self.cpu_seconds += other.cpu_seconds
        self.all_cpu_seconds += other.all_cpu_seconds


class ReportAggregate:
    """Reports in, in any number and order; figures out."""

    def __init__(self) -> None:
        self.counters = Counters()
        self.transactions = Histogram()
        self.service = Histogram()
        self.logins = Histogram()
        self.waits = Histogram()
        self.statements: dict[str, Histogram] = {}
        self.by_transaction: dict[str, Histogram] = {}
        self.slowest: tuple[SlowTransaction, ...] = ()
        self.cpu_seconds = 0.0
        self.lag_p99_ms = 0.0
        self._shares: dict[int, WorkerShare] = {}

    def add(self, report: WorkerReport, grown: Counters, *, is_steady: bool = True) -> None:
        """Takes a report in; `grown` is what its counters grew by since this worker's last one."""
        self.counters = self.counters + grown
        self._add_figures(report)
        share = self._shares.setdefault(report.worker, WorkerShare(Counters()))
        share.grown = share.grown + grown
        share.seconds += report.seconds
        share.steady_seconds += report.seconds * is_steady
        share.all_cpu_seconds += report.cpu_seconds
        share.cpu_seconds += report.cpu_seconds if report.core_seconds is None else report.core_seconds

    def include(self, other: "ReportAggregate") -> None:
        """Adds what another stretch has gathered."""
        self.counters = self.counters + other.counters
        self._add_figures(other)
        for worker, share in other._shares.items():
            self._shares.setdefault(worker, WorkerShare(Counters())).include(share)

    def _add_figures(self, other: "WorkerReport | ReportAggregate") -> None:
        self.transactions.add(other.transactions)
        self.service.add(other.service)
        self.logins.add(other.logins)
        self.waits.add(other.waits)
        _add(self.statements, other.statements)
        _add(self.by_transaction, other.by_transaction)
        self.slowest = slowest_of((*self.slowest, *other.slowest))
        self.cpu_seconds += other.cpu_seconds
        self.lag_p99_ms = max(self.lag_p99_ms, other.lag_p99_ms)

    def of_kind(self, name: str) -> Histogram:
        """The latencies of one kind of transaction; of all, where there is only one kind."""
        return self.by_transaction.get(name, Histogram()) if self.by_transaction else self.transactions

    @property
    def is_empty(self) -> bool:
        """True if no worker has reported."""
        return not self._shares

    @property
    def seconds(self) -> float:
        """How long the stretch was; never zero."""
        shares = self._shares.values()
        steady = max((share.steady_seconds for share in shares), default=0.0)
        return steady or max((share.seconds for share in shares), default=0.0) or NO_TIME

    def share_of(self, worker: int) -> WorkerShare:
        """One worker's part; an empty one if it has not reported."""
        return self._shares.get(worker, WorkerShare(Counters()))

    @property
    def worker_cpu(self) -> float:
        """The busiest worker's share of a core."""
        shares = self._shares.values()
        return max((share.cpu_seconds / share.seconds for share in shares if share.seconds), default=0.0)

    def per_second(self, count: Callable[[Counters], int]) -> float:
        """How fast a count grew: what a silent worker did is spread over its silence."""
        seconds = self.seconds
        return sum(count(share.grown) / max(share.seconds, seconds) for share in self._shares.values())


def _add(totals: dict[str, Histogram], more: Mapping[str, Histogram]) -> None:
    for name, histogram in more.items():
        totals.setdefault(name, Histogram()).add(histogram)


class LoadTotals:
    """Reports in, figures out. Counters are cumulative per worker; each report takes the difference.

    Histograms are wide, so each report is folded once, into the open part. The open part is folded once into
    the section between two checkpoints, and is the tick, or a piece of it if a checkpoint splits the tick. A
    section is folded into the run when it ends.

    `detail` is what the last tick held beyond its sample, None before the first; `idle_connections` were open
    at that tick.
    """

    def __init__(self) -> None:
        self.detail: TickDetail | None = None
        self.idle_connections = 0
        self._before = ReportAggregate()
        self._done_before = 0
        self._closed_sections: ReportAggregate | None = None
        self._section = ReportAggregate()
        self._tick = ReportAggregate()
        self._open = ReportAggregate()
        self._last: dict[int, WorkerReport] = {}
        self._latest_round: frozenset[int] = frozenset()
        self._gaps = GapsOfWorkers()

    def begin(self, reports: Sequence[WorkerReport]) -> None:
        """The load starts now: what was reported until here (logins, say) is not part of the run."""
        self._last = {report.worker: report for report in reports}
        self._latest_round = frozenset(self._last)
        for report in reports:
            self._gaps.add(report.worker, report.gaps)

    @property
    def completion_gaps(self) -> CompletionGaps:
        """The times in which no worker completed a transaction."""
        return self._gaps.common

    @property
    def since_checkpoint(self) -> ReportAggregate:
        """What was gathered since the last checkpoint, or since the figures began to count."""
        self._close_open_part()
        return self._section

    @property
    def run(self) -> ReportAggregate:
        """What was gathered since the figures began to count."""
        section = self.since_checkpoint
        if self._closed_sections is None:
            return section
        whole = ReportAggregate()
        whole.include(self._closed_sections)
        whole.include(section)
        return whole

    @property
    def totals(self) -> Counters:
        """The counters of the whole run, over all workers."""
        counters = self._section.counters + self._open.counters
        return counters if self._closed_sections is None else self._closed_sections.counters + counters

    @property
    def transactions(self) -> Histogram:
        return self.run.transactions

    @property
    def service(self) -> Histogram:
        return self.run.service

    @property
    def statements(self) -> dict[str, Histogram]:
        return self.run.statements

    @property
    def by_transaction(self) -> dict[str, Histogram]:
        return self.run.by_transaction

    def of_kind(self, name: str) -> Histogram:
        return self.run.of_kind(name)

    @property
    def cpu_seconds(self) -> float:
        return self.run.cpu_seconds

    @property
    def all_parts(self) -> tuple[ReportAggregate, ...]:
        """Everything since measuring began: before and after the last reset of the figures."""
        return self._before, self.run

    @property
    def connections(self) -> int:
        return sum(report.connections for report in self._last.values())

    def per_connection(self, name: str) -> FairnessStats:
        """A figure of each connection, by its name in the reports, over all workers."""
        return sum(map(attrgetter(name), self._last.values()), FairnessStats())

    def add_reports(self, reports: Sequence[WorkerReport]) -> None:
        """Takes a round of reports in."""
        for report in reports:
            before = self._last.get(report.worker)
            grown = report.counters - (before.counters if before else Counters())
            is_steady = report.worker in self._latest_round
            self._open.add(report, grown, is_steady=is_steady)
            self._last[report.worker] = report
            self._gaps.add(report.worker, report.gaps)
        self._latest_round = frozenset(report.worker for report in reports)

    def reset_stats(self, reports: Sequence[WorkerReport]) -> None:
        """Resets the run's figures; the current tick continues, and so does the sample's total.

        Transactions in flight end in the new figures, so they start in them.
        """
        self.add_reports(reports)
        self._done_before += self.totals.completed
        self._before.include(self.run)
        counters = [report.counters for report in self._last.values()]
        flying, waiting = sum(each.in_flight for each in counters), sum(each.backlog for each in counters)
        self._closed_sections, self._section = None, ReportAggregate()
        self._section.counters = Counters(scheduled=flying + waiting, in_flight=flying, backlog=waiting)

    @property
    def transactions_total(self) -> int:
        """All that were done since measuring began, whatever the figures count from."""
        return self._done_before + self.totals.completed

    def checkpoint(self) -> None:
        """What comes from now on is the next checkpoint's."""
        self._closed_sections, self._section = self.run, ReportAggregate()

    def tick(
        self, reports: Sequence[WorkerReport], threads: int, rate: float
    ) -> tuple[LoadSample, IntervalCounts]:
        """Takes a round in; what was taken since the last tick as load part and for an interval line."""
        self.add_reports(reports)
        self._close_open_part()
        tick, self._tick = self._tick, ReportAggregate()
        self.detail = self._detail(tick)
        self.idle_connections = sum(report.idle_connections for report in self._last.values())
        return self._part(tick, threads, rate), self._interval(tick, threads, rate)

    def _close_open_part(self) -> None:
        """Folds the open part into the section; it becomes the tick, or a piece of it."""
        part, self._open = self._open, ReportAggregate()
        if part.is_empty:
            return
        self._section.include(part)
        if self._tick.is_empty:
            self._tick = part
        else:
            self._tick.include(part)

    @property
    def _backlog(self) -> int:
        return sum(report.counters.backlog for report in self._last.values())

    def _part(self, tick: ReportAggregate, threads: int, rate: float) -> LoadSample:
        return LoadSample(
            threads=threads,
            connections=self.connections,
            rate=rate,
            backlog=self._backlog,
            seconds=tick.seconds,
            transactions_per_second=tick.per_second(lambda grown: grown.completed),
            queries_per_second=tick.per_second(lambda grown: grown.queries),
            reads_per_second=tick.per_second(lambda grown: grown.reads),
            writes_per_second=tick.per_second(lambda grown: grown.writes),
            others_per_second=tick.per_second(lambda grown: grown.others),
            errors_per_second=tick.per_second(lambda grown: grown.failures),
            reconnects_per_second=tick.per_second(lambda grown: grown.reconnects),
            latency=tick.transactions.latency(),
            service=tick.service.latency(),
            statements=_latencies(tick.statements),
            by_transaction=_latencies(tick.by_transaction),
            errors_by_code={str(code): times for code, times in tick.counters.errors.items()},
            transactions_total=self.transactions_total,
            worker_cpu=tick.worker_cpu,
            lag_p99_ms=tick.lag_p99_ms,
            latency_buckets=coarse_histogram(tick.transactions),
            connection_load=ConnectionSample(
                idle=self.idle_connections,
                logins_per_second=tick.per_second(lambda grown: grown.logins),
                missed_logins_per_second=tick.per_second(lambda grown: grown.missed_logins),
                login=tick.logins.latency(),
                waiting=self._backlog,
                wait=tick.waits.latency(),
            ),
            slowest=tick.slowest,
        )

    def _interval(self, tick: ReportAggregate, threads: int, rate: float) -> IntervalCounts:
        return IntervalCounts(
            seconds=tick.seconds,
            threads=threads,
            rate=rate,
            transactions=tick.counters.completed,
            reads=tick.counters.reads,
            writes=tick.counters.writes,
            others=tick.counters.others,
            errors=tick.counters.failures,
            reconnects=tick.counters.reconnects,
            backlog=self._backlog,
            in_flight=sum(report.counters.in_flight for report in self._last.values()),
            latency=tick.transactions,
        )

    def remainder(self) -> TickDetail | None:
        """What was taken since the last tick; None without a report."""
        self._close_open_part()
        return None if self._tick.is_empty else self._detail(self._tick)

    def _detail(self, tick: ReportAggregate) -> TickDetail:
        grown = tick.counters
        return TickDetail(
            seconds=tick.seconds,
            counts=TickCounts(
                **{name: getattr(grown, name) for name in COUNTED},
                in_flight=sum(report.counters.in_flight for report in self._last.values()),
                errors=dict(grown.errors),
                sum_us=tick.transactions.sum_us,
                service_sum_us=tick.service.sum_us,
            ),
            response=tick.transactions,
            service=tick.service,
            by_transaction=tick.by_transaction,
        )


COUNTED = frozenset(TickCounts.__struct_fields__) & set(Counters.__struct_fields__) - {"in_flight", "errors"}
"""What a tick's record takes from the counters as it is."""


def _latencies(histograms: Mapping[str, Histogram]) -> dict[str, Latency]:
    found = {name: each.latency() for name, each in sorted(histograms.items())}
    return {name: latency for name, latency in found.items() if latency is not None}
