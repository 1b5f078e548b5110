"""Merges the reports of a host's workers to one, exactly: counters add up, histograms bucket by bucket."""

from collections.abc import Callable, Iterable, Sequence

from tuibench.clock import NS_PER_SECOND
from tuibench.load.completion_gaps import GapsOfWorkers
from tuibench.load.worker_report import Counters, FairnessStats, WorkerReport
from tuibench.metrics.histogram import Histogram, merge_histograms
from tuibench.model.measurements.sample import slowest_of


class ReportMerger:
    """Merges rounds of reports to those of one worker with the number `worker`.

    Counters are cumulative: a worker that did not report, or was replaced, counts with its last report.
    """

    def __init__(self, worker: int, now_ns: int) -> None:
        self._worker = worker
        self._merged_ns = now_ns
        self._last: dict[int, WorkerReport] = {}
        self._gaps = GapsOfWorkers()

    def merge(self, reports: Sequence[WorkerReport], now_ns: int) -> WorkerReport:
        """One round. `seconds` is the time since the round before."""
        seconds = max(1, now_ns - self._merged_ns) / NS_PER_SECOND
        self._merged_ns = now_ns
        self._last.update({report.worker: report for report in reports})
        for report in reports:
            self._gaps.add(report.worker, report.gaps)
        known = self._last.values()
        failed = next((report for report in known if report.failure), None)
        return WorkerReport(
            worker=self._worker,
            seconds=seconds,
            cpu_seconds=sum(report.cpu_seconds for report in reports),
            core_seconds=seconds * max(map(busy_share, reports), default=0.0),
            lag_p99_ms=max((report.lag_p99_ms for report in reports), default=0.0),
            connections=sum(report.connections for report in known),
            counters=sum((report.counters for report in known), Counters()),
            transactions=merge_histograms(report.transactions for report in reports),
            service=merge_histograms(report.service for report in reports),
            statements=_merged_by_name(report.statements for report in reports),
            by_transaction=_merged_by_name(report.by_transaction for report in reports),
            logins=merge_histograms(report.logins for report in reports),
            waits=merge_histograms(report.waits for report in reports),
            slowest=slowest_of(slow for report in reports for slow in report.slowest),
            gaps=self._gaps.common,
            idle_connections=sum(report.idle_connections for report in known),
            idle_refusal=next((report.idle_refusal for report in known if report.idle_refusal), ""),
            events_per_connection=self._fairness(lambda report: report.events_per_connection),
            seconds_per_connection=self._fairness(lambda report: report.seconds_per_connection),
            events_since=self._fairness(lambda report: report.events_since),
            seconds_since=self._fairness(lambda report: report.seconds_since),
            last_refusal=next((report.last_refusal for report in reports if report.last_refusal), ""),
            failure=failed.failure if failed else "",
            failure_hint=failed.failure_hint if failed else "",
            failure_exit=failed.failure_exit if failed else 0,
        )

    def _fairness(self, figure: Callable[[WorkerReport], FairnessStats]) -> FairnessStats:
        return sum(map(figure, self._last.values()), FairnessStats())


def busy_share(report: WorkerReport) -> float:
    """The share of a core that a worker's busiest thread used, 0 to 1."""
    cpu = report.cpu_seconds if report.core_seconds is None else report.core_seconds
    return cpu / report.seconds if report.seconds else 0.0


def _merged_by_name(rounds: Iterable[dict[str, Histogram]]) -> dict[str, Histogram]:
    merged: dict[str, Histogram] = {}
    for histograms in rounds:
        for name, histogram in histograms.items():
            merged.setdefault(name, Histogram()).add(histogram)
    return merged
