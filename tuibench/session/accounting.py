"""Adds up what the workers report: the load part of a sample at every tick, checkpoints, the run's totals."""

from collections.abc import Mapping, Sequence
from operator import attrgetter

from tuibench.load.report import Counters, Moments, WorkerReport
from tuibench.metrics.histogram import Histogram
from tuibench.metrics.shape import shape
from tuibench.model.sample import Latency, LoadPart
from tuibench.record.lines import TickCounts
from tuibench.record.recorder import Detail
from tuibench.record.text import Interval
from tuibench.session.gathering import Gathering


class Accounting:
    """Reports in, figures out. Counters are cumulative per worker; each report takes the difference.

    `since_checkpoint` is what has been gathered since the last one, or since the beginning, `detail` what the
    last tick held beyond its sample, None before the first.
    """

    def __init__(self) -> None:
        self.since_checkpoint = Gathering()
        self.detail: Detail | None = None
        self._run = Gathering()
        self._before = Gathering()
        self._done_before = 0
        self._tick = Gathering()
        self._last: dict[int, WorkerReport] = {}
        self._latest_round: frozenset[int] = frozenset()

    def begin(self, reports: Sequence[WorkerReport]) -> None:
        """The load starts now: what was reported until here (logins, say) is not part of the run."""
        self._last = {report.worker: report for report in reports}
        self._latest_round = frozenset(self._last)

    @property
    def totals(self) -> Counters:
        """The counters of the whole run, over all workers."""
        return self._run.counters

    @property
    def transactions(self) -> Histogram:
        return self._run.transactions

    @property
    def service(self) -> Histogram:
        return self._run.service

    @property
    def statements(self) -> dict[str, Histogram]:
        return self._run.statements

    @property
    def by_transaction(self) -> dict[str, Histogram]:
        return self._run.by_transaction

    def of_kind(self, name: str) -> Histogram:
        return self._run.of_kind(name)

    @property
    def cpu_seconds(self) -> float:
        return self._run.cpu_seconds

    @property
    def all_parts(self) -> tuple[Gathering, ...]:
        """Everything since measuring began: before and after the figures last began anew."""
        return self._before, self._run

    @property
    def connections(self) -> int:
        return sum(report.connections for report in self._last.values())

    def moments(self, name: str) -> Moments:
        """A figure of each connection, by its name in the reports, over all workers."""
        return sum(map(attrgetter(name), self._last.values()), Moments())

    def take(self, reports: Sequence[WorkerReport]) -> None:
        """Takes a round of reports in."""
        for report in reports:
            before = self._last.get(report.worker)
            grown = report.counters - (before.counters if before else Counters())
            is_steady = report.worker in self._latest_round
            for gathering in (self._run, self._tick, self.since_checkpoint):
                gathering.add(report, grown, is_steady=is_steady)
            self._last[report.worker] = report
        self._latest_round = frozenset(report.worker for report in reports)

    def begin_anew(self, reports: Sequence[WorkerReport]) -> None:
        """The run's figures count from here; the tick under way goes on, and so does the sample's total.

        What is still on its way will end in the new figures, so it begins in them.
        """
        self.take(reports)
        self._done_before += self.totals.completed
        self._before.include(self._run)
        self._run, self.since_checkpoint = Gathering(), Gathering()
        counters = [report.counters for report in self._last.values()]
        flying, waiting = sum(each.in_flight for each in counters), sum(each.backlog for each in counters)
        for gathering in (self._run, self.since_checkpoint):
            gathering.counters = Counters(scheduled=flying + waiting, in_flight=flying, backlog=waiting)

    @property
    def transactions_total(self) -> int:
        """All that were done since measuring began, whatever the figures count from."""
        return self._done_before + self.totals.completed

    def checkpoint(self) -> None:
        """What comes from now on is the next checkpoint's."""
        self.since_checkpoint = Gathering()

    def tick(self, reports: Sequence[WorkerReport], threads: int, rate: float) -> tuple[LoadPart, Interval]:
        """Takes a round in; what was taken since the last tick as load part and for an interval line."""
        self.take(reports)
        tick, self._tick = self._tick, Gathering()
        self.detail = self._detail(tick)
        return self._part(tick, threads, rate), self._interval(tick, threads, rate)

    @property
    def _backlog(self) -> int:
        return sum(report.counters.backlog for report in self._last.values())

    def _part(self, tick: Gathering, threads: int, rate: float) -> LoadPart:
        return LoadPart(
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
            shape=shape(tick.transactions),
        )

    def _interval(self, tick: Gathering, threads: int, rate: float) -> Interval:
        return Interval(
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

    def rest(self) -> Detail | None:
        """What was taken since the last tick; None if nobody reported."""
        return None if self._tick.is_empty else self._detail(self._tick)

    def _detail(self, tick: Gathering) -> Detail:
        grown = tick.counters
        return Detail(
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
