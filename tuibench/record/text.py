"""A run in sysbench's words: the interval line, the checkpoint and the final summary, label for label.

Scripts parse these; formats are those of sysbench 1.0.20.
"""

import msgspec

from tuibench.metrics.histogram import US_PER_MS, Histogram
from tuibench.model.sample import Latency
from tuibench.model.summary import Fairness, QueryTotals, Summary, TransactionTotals


class Interval(msgspec.Struct, kw_only=True):
    """What an interval line tells: counts over `seconds`, adding up over several ticks.

    `threads` and `rate` are what was asked for, `backlog` and `in_flight` as they stood at the end.
    """

    seconds: float = 0.0
    threads: int = 0
    rate: float = 0.0
    transactions: int = 0
    reads: int = 0
    writes: int = 0
    others: int = 0
    errors: int = 0
    reconnects: int = 0
    backlog: int = 0
    in_flight: int = 0
    latency: Histogram = msgspec.field(default_factory=Histogram)

    def add(self, other: "Interval") -> None:
        self.seconds += other.seconds
        self.transactions += other.transactions
        self.reads += other.reads
        self.writes += other.writes
        self.others += other.others
        self.errors += other.errors
        self.reconnects += other.reconnects
        self.threads, self.rate = other.threads, other.rate
        self.backlog, self.in_flight = other.backlog, other.in_flight
        self.latency.add(other.latency)


class FullReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the summary tells, of a run or of the time since its last checkpoint.

    `seconds` is how long that was, `total_seconds` is counted from the start of the load. Latencies are
    milliseconds; `percentiles` are by their number as it is written.
    """

    seconds: float
    total_seconds: float
    transactions: TransactionTotals
    queries: QueryTotals
    errors: int
    reconnects: int
    latency: Latency | None
    percentiles: dict[str, float | None]
    latency_sum_ms: float
    fairness: Fairness


def interval_line(elapsed_seconds: float, interval: Interval, percentile: float) -> str:
    """sysbench's line of intermediate results. A percentile of 0 is none; others show decimals at need."""
    seconds = interval.seconds or 1.0
    queries = interval.reads + interval.writes + interval.others
    (latency_us,) = interval.latency.percentiles((percentile,)) if percentile else (0.0,)
    return (
        f"[ {elapsed_seconds:.0f}s ] thds: {interval.threads} tps: {interval.transactions / seconds:4.2f} "
        f"qps: {queries / seconds:4.2f} (r/w/o: {interval.reads / seconds:4.2f}/"
        f"{interval.writes / seconds:4.2f}/{interval.others / seconds:4.2f}) "
        f"lat (ms,{percentile:g}%): {latency_us / US_PER_MS:4.2f} "
        f"err/s: {interval.errors / seconds:4.2f} reconn/s: {interval.reconnects / seconds:4.2f}"
    )


def queue_line(elapsed_seconds: float, interval: Interval) -> str:
    """sysbench's second line when there is a rate."""
    return f"[ {elapsed_seconds:.0f}s ] queue length: {interval.backlog}, concurrency: {interval.in_flight}"


def checkpoint_text(report: FullReport) -> str:
    """sysbench's report of a checkpoint, under its title."""
    return f"[ {report.total_seconds:.0f}s ] Checkpoint report:\n{report_text(report)}"


def summary_text(summary: Summary) -> str:
    """sysbench's final report of a whole run, ending in a newline."""
    return report_text(
        FullReport(
            seconds=summary.seconds,
            total_seconds=summary.seconds,
            transactions=summary.transactions,
            queries=summary.queries,
            errors=summary.errors.total,
            reconnects=summary.reconnects,
            latency=summary.latency_ms,
            percentiles=summary.percentiles,
            latency_sum_ms=summary.latency_sum_ms,
            fairness=summary.fairness,
        )
    )


def report_text(report: FullReport) -> str:
    """sysbench's report, ending in a newline."""
    seconds = report.seconds or 1.0
    queries, latency, fairness = report.queries, report.latency, report.fairness
    transactions, errors, reconnects = report.transactions, report.errors, report.reconnects
    return f"""\
SQL statistics:
    queries performed:
        read:                            {queries.read}
        write:                           {queries.write}
        other:                           {queries.other}
        total:                           {queries.total}
    transactions:                        {transactions.total:<6} ({transactions.per_second:.2f} per sec.)
    queries:                             {queries.total:<6} ({queries.per_second:.2f} per sec.)
    ignored errors:                      {errors:<6} ({errors / seconds:.2f} per sec.)
    reconnects:                          {reconnects:<6} ({reconnects / seconds:.2f} per sec.)

General statistics:
    total time:                          {report.total_seconds:.4f}s
    total number of events:              {transactions.total}

Latency (ms):
         min:                              {latency.min if latency else 0:10.2f}
         avg:                              {latency.avg if latency else 0:10.2f}
         max:                              {latency.max if latency else 0:10.2f}
{_percentile_lines(report)}
         sum:                              {report.latency_sum_ms:10.2f}

Threads fairness:
    events (avg/stddev):           {fairness.events_avg:.4f}/{fairness.events_stddev:.2f}
    execution time (avg/stddev):   {fairness.seconds_avg:.4f}/{fairness.seconds_stddev:.2f}

"""


def _percentile_lines(report: FullReport) -> str:
    """sysbench has 0.00 where there is none."""
    if not report.percentiles:
        return "         percentile stats:               disabled"
    return "\n".join(
        f"{f'        {wanted:>3}th percentile:':<43}{value or 0.0:10.2f}"
        for wanted, value in report.percentiles.items()
    )
