"""The totals of a session without load: the server's own traffic from its first tick to its last."""

from collections.abc import Iterable

from msgspec.structs import replace

from tuibench.metrics.histogram import Histogram
from tuibench.metrics.series.rates import ratio
from tuibench.model.results.summary import QueryTotals, Summary, TransactionTotals, WatchedTotals
from tuibench.model.server import ServerInfo
from tuibench.observe.server.status_reading import ServerObservation
from tuibench.observe.server.traffic import Traffic
from tuibench.record.files.hdr_log import encode_histogram
from tuibench.record.files.recorder import TickDetail
from tuibench.record.files.schema import TickCounts
from tuibench.record.sysbench_report import IntervalCounts
from tuibench.session.spec import SessionSpec
from tuibench.session.totals.report_aggregation import LoadTotals
from tuibench.session.totals.run_summary import RunEnding, build_summary, latency_fields


class WatchTotals:
    """Intervals in, totals out. `seconds` is the time that they cover; gaps are not part of it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.commits = self.rollbacks = self.reads = self.writes = self.others = 0
        self.latency = Histogram()
        self.latency_note = ""
        self._average_weight = 0
        self._average_sum_ms = 0.0
        self._threads_seconds = self._threads_counted_seconds = 0.0
        self._most_threads: int | None = None

    def add(self, traffic: Traffic, threads_running: int | None) -> IntervalCounts:
        """One more interval; the same as an interval line needs it."""
        self.seconds += traffic.seconds
        self.commits += traffic.commits
        self.rollbacks += traffic.rollbacks
        self.reads += traffic.reads
        self.writes += traffic.writes
        self.others += traffic.others
        self.latency_note = traffic.latency_note
        if threads_running is not None:
            self._threads_seconds += threads_running * traffic.seconds
            self._threads_counted_seconds += traffic.seconds
            self._most_threads = max(self._most_threads or 0, threads_running)
        if traffic.latency_avg_ms is not None and traffic.queries:
            self._average_weight += traffic.queries
            self._average_sum_ms += traffic.latency_avg_ms * traffic.queries
        latency = traffic.latency or Histogram()
        self.latency.add(latency)
        return IntervalCounts(
            seconds=traffic.seconds,
            threads=threads_running,
            transactions=traffic.commits,
            reads=traffic.reads,
            writes=traffic.writes,
            others=traffic.others,
            latency=latency,
        )

    def add_last(self, observations: Iterable[ServerObservation]) -> None:
        """The readings after the last tick."""
        for observed in observations:
            if observed.traffic is not None and observed.sample is not None:
                self.add(observed.traffic, observed.sample.threads_running)

    @property
    def queries(self) -> int:
        return self.reads + self.writes + self.others

    @property
    def watched(self) -> WatchedTotals:
        """What the summary of a run has no field for."""
        return WatchedTotals(
            rollbacks=self.rollbacks,
            threads_running_avg=ratio(self._threads_seconds, self._threads_counted_seconds),
            threads_running_max=self._most_threads,
            latency_avg_ms=ratio(self._average_sum_ms, self._average_weight),
            latency_note=self.latency_note,
        )


def tick_detail(traffic: Traffic) -> TickDetail:
    """A tick as the record keeps it: exact counts, and all latencies."""
    latency = traffic.latency or Histogram()
    counts = TickCounts(
        completed=traffic.commits,
        commits=traffic.commits,
        reads=traffic.reads,
        writes=traffic.writes,
        others=traffic.others,
        questions=traffic.queries,
        sum_us=latency.sum_us,
    )
    return TickDetail(
        seconds=traffic.seconds, counts=counts, response=latency, service=Histogram(), by_transaction={}
    )


def build_watch_summary(
    spec: SessionSpec, server: ServerInfo, totals: WatchTotals, ending: RunEnding
) -> Summary:
    """The whole session in figures."""
    seconds = totals.seconds or 1e-9
    queries = totals.queries
    return replace(
        build_summary(spec, server, LoadTotals(), ending),
        transactions=TransactionTotals(total=totals.commits, per_second=totals.commits / seconds),
        queries=QueryTotals(
            read=totals.reads,
            write=totals.writes,
            other=totals.others,
            total=queries,
            per_second=queries / seconds,
        ),
        **latency_fields(totals.latency, spec.plan.percentiles),
        latency_histogram=encode_histogram(totals.latency),
        steadiness=ending.steadiness if totals.commits else None,
        watched=totals.watched,
    )
