"""Adds up what the workers report: the load part of a sample at every tick, and the totals of the run."""

from collections.abc import Mapping, Sequence

from tuibench.load.report import Counters, Moments, WorkerReport
from tuibench.metrics.histogram import Histogram, merged
from tuibench.model.sample import Latency, LoadPart
from tuibench.record.text import Interval


class Accounting:
    """Reports in, figures out. Counters are cumulative per worker; each tick takes the difference."""

    def __init__(self) -> None:
        self.transactions = Histogram()
        self.service = Histogram()
        self.statements: dict[str, Histogram] = {}
        self.by_transaction: dict[str, Histogram] = {}
        self.cpu_seconds = 0.0
        self._last: dict[int, WorkerReport] = {}
        self._base: dict[int, Counters] = {}

    def begin(self, reports: Sequence[WorkerReport]) -> None:
        """The load starts now: what was reported until here (logins, say) is not part of the run."""
        for report in reports:
            self._last[report.worker] = report
            self._base[report.worker] = report.counters

    @property
    def totals(self) -> Counters:
        """The counters of the whole run, over all workers."""
        total = Counters()
        for worker, report in self._last.items():
            total = total + (report.counters - self._base.get(worker, Counters()))
        return total

    @property
    def connections(self) -> int:
        return sum(report.connections for report in self._last.values())

    @property
    def events_per_connection(self) -> Moments:
        return sum((report.events_per_connection for report in self._last.values()), Moments())

    @property
    def seconds_per_connection(self) -> Moments:
        return sum((report.seconds_per_connection for report in self._last.values()), Moments())

    def tick(self, reports: Sequence[WorkerReport], threads: int, rate: float) -> tuple[LoadPart, Interval]:
        """Takes a round of reports in; the sample's load part, and the counts for an interval line."""
        delta = Counters()
        for report in reports:
            before = self._last.get(report.worker)
            delta = delta + (report.counters - (before.counters if before else Counters()))
            self._last[report.worker] = report
            self.cpu_seconds += report.cpu_seconds
        seconds = max((report.seconds for report in reports), default=0.0) or 1e-9
        transactions = merged(report.transactions for report in reports)
        service = merged(report.service for report in reports)
        statements = _by_name([report.statements for report in reports])
        kinds = _by_name([report.by_transaction for report in reports])
        backlog = sum(report.counters.backlog for report in reports)
        self.transactions.add(transactions)
        self.service.add(service)
        _add(self.statements, statements)
        _add(self.by_transaction, kinds)
        cpu = max((report.cpu_seconds / report.seconds for report in reports if report.seconds), default=0.0)
        part = LoadPart(
            threads=threads,
            connections=self.connections,
            rate=rate,
            backlog=backlog,
            seconds=seconds,
            transactions_per_second=delta.completed / seconds,
            queries_per_second=delta.queries / seconds,
            reads_per_second=delta.reads / seconds,
            writes_per_second=delta.writes / seconds,
            others_per_second=delta.others / seconds,
            errors_per_second=sum(delta.errors.values()) / seconds,
            reconnects_per_second=delta.reconnects / seconds,
            latency=transactions.latency(),
            service=service.latency(),
            statements=_latencies(statements),
            by_transaction=_latencies(kinds),
            errors_by_code={str(code): times for code, times in delta.errors.items()},
            transactions_total=self.totals.completed,
            worker_cpu=cpu,
            lag_p99_ms=max((report.lag_p99_ms for report in reports), default=0.0),
        )
        interval = Interval(
            seconds=seconds,
            transactions=delta.completed,
            reads=delta.reads,
            writes=delta.writes,
            others=delta.others,
            errors=sum(delta.errors.values()),
            reconnects=delta.reconnects,
            backlog=backlog,
            in_flight=sum(report.counters.in_flight for report in reports),
            latency=transactions,
        )
        return part, interval


def _by_name(parts: Sequence[Mapping[str, Histogram]]) -> dict[str, Histogram]:
    """The histograms of several workers, merged."""
    names = sorted({name for part in parts for name in part})
    return {name: merged(part[name] for part in parts if name in part) for name in names}


def _add(totals: dict[str, Histogram], more: Mapping[str, Histogram]) -> None:
    for name, histogram in more.items():
        totals.setdefault(name, Histogram()).add(histogram)


def _latencies(histograms: Mapping[str, Histogram]) -> dict[str, Latency]:
    return {name: latency for name, each in histograms.items() if (latency := each.latency()) is not None}
