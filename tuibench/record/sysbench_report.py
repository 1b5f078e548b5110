"""sysbench's report: interval lines, checkpoints, final summary, CSV and latency histogram.

Scripts parse them, so labels and formats are exactly those of sysbench 1.0.20. Intervals are merged from
ticks.
"""

import math
import re
from typing import Any

import msgspec
from msgspec.structs import asdict

from tuibench.metrics.figures import read
from tuibench.metrics.series import ratio
from tuibench.model.counters import Counter
from tuibench.model.plan import RunPlan
from tuibench.model.summary import (
    ErrorTotals,
    Fairness,
    KindTotals,
    QueryTotals,
    Summary,
    TransactionTotals,
)
from tuibench.model.tick import (
    ERROR,
    MS_PER_SECOND,
    RESPONSE,
    SERVICE,
    STATEMENT,
    TRANSACTION,
    US_PER_MS,
    Histogram,
    Latency,
    Tick,
    bucket_upper_bound,
    total_tick,
)
from tuibench.record.hdr_log import encode_histogram

SYSBENCH = "1.0.20"
"""The version of sysbench with these formats."""

LABELS = (
    "SQL statistics", "queries performed", "read", "write", "other", "total", "transactions", "queries",
    "ignored errors", "reconnects", "General statistics", "total time", "total number of events",
    "Latency (ms)", "min", "avg", "max", "percentile", "percentile stats", "sum", "Threads fairness",
    "events (avg/stddev)",
    "execution time (avg/stddev)", "Number of threads", "Target transaction rate", "thds", "tps", "qps",
    "(r/w/o", "%)", "err/s", "reconn/s", "queue length", "concurrency",
)  # fmt: skip
"""The labels in sysbench's output, by which programs find the figures."""

_LABELLED = re.compile("(" + "|".join(map(re.escape, LABELS)) + r")\s*:", re.IGNORECASE)


def without_labels(note: str) -> str:
    """A line beside the report, without labels of it: logs often hold stdout and stderr, and are searched for
    these.
    """
    return _LABELLED.sub(r"\1 –", note)


def head_text(version: str, plan: RunPlan) -> str:
    """The text before the first interval line, until the threads have started.

    Its first line has the version of sysbench whose format follows, where programs that parse logs look.
    """
    rate = f"Target transaction rate: {plan.rate:g}/sec\n" if plan.rate else ""
    every = plan.report_seconds
    lines = f"Report intermediate results every {every:g} second(s)\n" if every else ""
    return (
        f"tuibench {version}, in the format of sysbench {SYSBENCH} (not sysbench itself)\n\n"
        f"Running the test with following options:\nNumber of threads: {plan.threads}\n"
        f"{rate}{lines}Initializing random number generator from seed ({plan.seed}).\n\n\n"
        "Initializing worker threads...\n\n"
    )


THREADS_STARTED = "Threads started!\n\n"


class FullReport(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of sysbench's full report: of the whole run, or since its last checkpoint."""

    seconds: float
    """The length of the reported time."""
    total_seconds: float
    """The time since the start of the load."""
    transactions: TransactionTotals
    queries: QueryTotals
    errors: int
    reconnects: int
    latency: Latency | None
    """In milliseconds; None without a transaction."""
    percentiles: dict[str, float | None]
    """The requested percentiles in milliseconds, by their number as on the command line."""
    latency_sum_ms: float
    fairness: Fairness


def full_report(
    total: Tick, total_seconds: float, percentiles: tuple[float, ...], fairness: Fairness
) -> FullReport:
    """The report of a part of a run: of the sum of its ticks, which ends `total_seconds` into the run."""
    found = load_fields(total, percentiles)
    return FullReport(
        seconds=total.seconds,
        total_seconds=total_seconds,
        errors=found["errors"].total,
        latency=found["latency_ms"],
        fairness=fairness,
        **{
            name: found[name]
            for name in ("transactions", "queries", "reconnects", "percentiles", "latency_sum_ms")
        },
    )


def load_fields(whole: Tick, percentiles: tuple[float, ...], kinds: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields of a `Summary` that are computed from the sum of all ticks.

    `kinds` are the profile's kinds of transactions, in the order of the profile.
    """

    def count(name: str) -> int:
        return round(whole.sums.get(name, 0))

    done, reads, writes, others = map(count, ("completed", "reads", "writes", "others"))
    queries, codes = reads + writes + others, {code: round(n) for code, n in whole.counts(ERROR).items()}
    response, named = whole.hist(RESPONSE), whole.named(TRANSACTION)
    known = percentiles if response.count else ()
    latencies = zip(percentiles, response.percentiles(known), strict=False)
    return {
        "transactions": TransactionTotals(total=done, per_second=ratio(done, whole.seconds) or 0.0),
        "queries": QueryTotals(
            read=reads,
            write=writes,
            other=others,
            total=queries,
            per_second=ratio(queries, whole.seconds) or 0.0,
        ),
        "errors": ErrorTotals(total=sum(codes.values()), by_code=codes),
        **{name: count(name) for name in PLAIN_COUNTS},
        "percentiles": dict.fromkeys(f"{each:g}" for each in percentiles)
        | {f"{each:g}": us / US_PER_MS for each, us in latencies},
        "latency_ms": response.latency(),
        "service_ms": whole.hist(SERVICE).latency(),
        "latency_sum_ms": response.sum_us / US_PER_MS,
        "latency_histogram": encode_histogram(response),
        "statements": {
            name: latency
            for name, each in whole.named(STATEMENT).items()
            if (latency := each.latency()) is not None
        },
        "by_transaction": {
            name: KindTotals(
                **asdict(latency),
                p90=named[name].percentiles((90,))[0] / US_PER_MS,
                retries=count(f"retried.{name}"),
                rolled_back=count(f"rolled_back.{name}"),
            )
            for name in dict.fromkeys((*(kind for kind in kinds if kind in named), *named))
            if (latency := named[name].latency()) is not None
        },
    }


PLAIN_COUNTS = ("retries", "reconnects", "scheduled", "failed", "abandoned", "unknown_commits")


def per_second(tick: Tick, name: str) -> float:
    """A count of an interval per second."""
    return tick.sums.get(name, 0.0) / (tick.seconds or 1.0)


def latency_ms(tick: Tick, percentile: float) -> float:
    """A percentile of an interval's response times; 0 without transactions, and for percentile 0."""
    (latency_us,) = tick.hist(RESPONSE).percentiles((percentile,)) if percentile else (0.0,)
    return latency_us / US_PER_MS


def interval_line(tick: Tick, percentile: float) -> str:
    """sysbench's line of intermediate results, without latency for percentile 0."""
    return (
        f"[ {tick.end:.0f}s ] thds: {tick.levels.get('threads', 0):.0f} "
        f"tps: {per_second(tick, 'completed'):4.2f} "
        f"qps: {per_second(tick, 'queries'):4.2f} (r/w/o: {per_second(tick, 'reads'):4.2f}/"
        f"{per_second(tick, 'writes'):4.2f}/{per_second(tick, 'others'):4.2f}) "
        f"lat (ms,{percentile:g}%): {latency_ms(tick, percentile):4.2f} "
        f"err/s: {tick.errors / (tick.seconds or 1.0):4.2f} reconn/s: {per_second(tick, 'reconnects'):4.2f}"
    )


def queue_line(tick: Tick) -> str:
    """sysbench's second line of intermediate results in a run with a rate."""
    backlog, in_flight = tick.levels.get("backlog", 0), tick.levels.get("in_flight", 0)
    return f"[ {tick.end:.0f}s ] queue length: {backlog:.0f}, concurrency: {in_flight:.0f}"


def further_lines(tick: Tick) -> list[str]:
    """The lines after an interval line: sysbench's line of the queue, those about the deadline and about
    connections.
    """
    lines = [queue_line(tick)] if tick.levels.get("rate") else []
    if "good" in tick.sums:
        good, late = per_second(tick, "good"), per_second(tick, "late")
        lines.append(f"[ {tick.end:.0f}s ] in time: {good:4.2f}/s, late: {late:4.2f}/s")
    levels = tick.levels
    if "idle_wanted" not in levels:
        return lines
    # A line about users, idle connections and logins, if the load has them.
    parts = []
    logins, missed = read("logins", tick) or 0.0, read("missed_logins", tick) or 0.0
    if levels.get("users"):
        users, waiting = levels["users"], levels.get("waiting", 0)
        parts.append(f"users: {users:.0f}, waiting: {waiting:.0f}, wait (ms,95%): {_p95('wait_p95', tick)}")
    if levels["idle_wanted"]:
        parts.append(f"idle: {levels.get('idle', 0):.0f}/{levels['idle_wanted']:.0f}")
    if logins or missed or not parts:
        parts.append(f"logins/s: {logins:.2f}, login (ms,95%): {_p95('login_p95', tick)}")
    if missed:
        parts.append(f"missed/s: {missed:.2f}")
    return [*lines, f"[ {tick.end:.0f}s ] {', '.join(parts)}"]


def _p95(figure: str, tick: Tick) -> str:
    value = read(figure, tick)
    return "-" if value is None else f"{value:.2f}"


def checkpoint_title(report: FullReport) -> str:
    return f"[ {report.total_seconds:.0f}s ] Checkpoint report:\n"


def checkpoint_text(report: FullReport) -> str:
    """sysbench's report of a checkpoint, under its title."""
    return checkpoint_title(report) + report_text(report)


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
    # As in sysbench: 0.00 if no percentile is requested.
    percentiles = "\n".join(
        f"{f'        {wanted:>3}th percentile:':<43}{value or 0.0:10.2f}"
        for wanted, value in report.percentiles.items()
    )
    # There are no latencies without a transaction.
    latencies = (
        ""
        if latency is None
        else f"""\
Latency (ms):
         min:                              {latency.min:10.2f}
         avg:                              {latency.avg:10.2f}
         max:                              {latency.max:10.2f}
{percentiles or "         percentile stats:               disabled"}
         sum:                              {report.latency_sum_ms:10.2f}

"""
    )
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

{latencies}\
Threads fairness:
    events (avg/stddev):           {fairness.events_avg:.4f}/{fairness.events_stddev:.2f}
    execution time (avg/stddev):   {fairness.seconds_avg:.4f}/{fairness.seconds_stddev:.2f}

"""


def interval_stat(tick: Tick, percentile: float) -> dict[str, float]:
    """The table that sysbench passes to a script's hook `report_intermediate`; times are in seconds."""
    sums, levels = tick.sums, tick.levels
    return {
        "threads_running": levels.get("threads", 0),
        "time_interval": tick.seconds,
        "time_total": tick.end,
        "latency_pct": latency_ms(tick, percentile) / MS_PER_SECOND,
        "events": sums.get("completed", 0.0),
        "reads": sums.get("reads", 0.0),
        "writes": sums.get("writes", 0.0),
        "other": sums.get("others", 0.0),
        "errors": tick.errors,
        "reconnects": sums.get("reconnects", 0.0),
        "queue_length": levels.get("backlog", 0),
        "concurrency": levels.get("in_flight", 0) if levels.get("rate") else 0,
    }


def report_stat(report: FullReport, threads: int) -> dict[str, float]:
    """The table for a script's hook `report_cumulative`, in seconds; of several percentiles the first."""
    latency, queries = report.latency, report.queries
    percentile = next(iter(report.percentiles.values()), None) or 0.0
    latencies_ms = {
        "latency_pct": percentile,
        "latency_min": latency.min if latency else 0.0,
        "latency_max": latency.max if latency else 0.0,
        "latency_avg": latency.avg if latency else 0.0,
        "latency_sum": report.latency_sum_ms,
    }
    return {
        "threads_running": threads,
        "time_interval": report.seconds,
        "time_total": report.total_seconds,
        "events": report.transactions.total,
        "reads": queries.read,
        "writes": queries.write,
        "other": queries.other,
        "errors": report.errors,
        "reconnects": report.reconnects,
        **{name: ms / MS_PER_SECOND for name, ms in latencies_ms.items()},
    }


# CSV: a row per interval. The first columns are those of sysbench's report_csv, in its order.

SYSBENCH_COLUMNS = (
    "time", "threads", "tps", "qps", "reads", "writes", "other", "latency_pct", "errors", "reconnects",
)  # fmt: skip
"""`latency_pct` is the requested percentile in ms; the columns other than it, `time` and `threads` are rates
per second.
"""

OWN_COLUMNS = (
    "seconds", "transactions", "rate", "backlog", "concurrency",
    "latency_min", "latency_avg", "latency_p50", "latency_p95", "latency_p99", "latency_p999", "latency_max",
    "goodput", "late", "abandoned", "resent",
)  # fmt: skip
"""tuibench's further columns. Latencies are in ms, and empty in an interval without a transaction. The last
four are rates per second, and empty without a deadline.
"""
IN_TIME = ("good", "late", "abandoned", "resent")

CSV_HEADER = ",".join((*SYSBENCH_COLUMNS, *OWN_COLUMNS)) + "\n"


def interval_csv_row(tick: Tick, percentile: float) -> str:
    """The row of one interval, ending in a newline; `latency_pct` is 0 for percentile 0."""
    latency, levels = tick.hist(RESPONSE).latency(), tick.levels
    threads = levels.get("threads", levels.get(Counter.THREADS_RUNNING))
    figures = () if latency is None else (
        latency.min, latency.avg, latency.p50, latency.p95, latency.p99, latency.p999, latency.max,
    )  # fmt: skip
    counts = ("completed", "queries", "reads", "writes", "others")
    row = [
        f"{tick.end:.3f}".rstrip("0").rstrip("."),
        "" if threads is None else f"{threads:.0f}",
        *(f"{per_second(tick, name):4.2f}" for name in counts),
        f"{latency_ms(tick, percentile):4.2f}",
        f"{tick.errors / (tick.seconds or 1.0):4.2f}",
        f"{per_second(tick, 'reconnects'):4.2f}",
        f"{tick.seconds:.3f}",
        f"{tick.sums.get('completed', 0):.0f}",
        f"{levels.get('rate', 0.0):g}",
        f"{levels.get('backlog', 0):.0f}",
        f"{levels.get('in_flight', 0):.0f}",
        *(f"{ms:.3f}" for ms in figures),
        *[""] * (7 - len(figures)),
        *(f"{per_second(tick, name):4.2f}" if "good" in tick.sums else "" for name in IN_TIME),
    ]
    return ",".join(row) + "\n"


# Latency histogram

BUCKETS = 1024
LOWEST_MS, HIGHEST_MS = 0.001, 100_000.0
STARS = 40

_OFFSET = math.log(LOWEST_MS)
_PER_BUCKET = (BUCKETS - 1) / (math.log(HIGHEST_MS) - _OFFSET)

HISTOGRAM_HEAD = """\
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
"""


def histogram_text(histogram: Histogram) -> str:
    """sysbench's `--histogram`: logarithmic buckets with stars, without empty ones; ends in a blank line."""
    counts: dict[int, int] = {}
    for bucket, times in histogram.counts.items():
        place = sysbench_bucket(min(bucket_upper_bound(bucket), histogram.max_us) / US_PER_MS)
        counts[place] = counts.get(place, 0) + times
    rows, most = [], max(counts.values(), default=0)
    for bucket, count in sorted(counts.items()):
        stars = "*" * math.floor(count * (STARS / most) + 0.5)
        rows.append(f"{sysbench_bucket_ms(bucket):12.3f} |{stars:<{STARS}} {count}\n")
    return HISTOGRAM_HEAD + "".join(rows) + " \n"


def sysbench_bucket(value_ms: float) -> int:
    """sysbench's bucket whose value is nearest on the logarithmic scale."""
    inside = min(max(value_ms, LOWEST_MS), HIGHEST_MS)
    return math.floor((math.log(inside) - _OFFSET) * _PER_BUCKET + 0.5)


def sysbench_bucket_ms(bucket: int) -> float:
    """The value in milliseconds that represents a bucket of sysbench."""
    return math.exp(bucket / _PER_BUCKET + _OFFSET)


INTERVAL_ROUNDING_SECONDS = 1e-6


class IntervalAggregator:
    """Merges ticks to intervals of `seconds`; 0 gives no intervals. An interval includes what was reported in
    it for earlier times.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ticks: list[Tick] = []
        self._taken_at = 0.0

    def add(self, tick: Tick) -> Tick | None:
        """Add a tick; returns the interval if it completes one."""
        if not self._seconds:
            return None
        self._ticks.append(tick)
        if tick.end - self._taken_at < self._seconds - INTERVAL_ROUNDING_SECONDS:
            return None
        whole = total_tick((Tick(end=self._taken_at - 1.0), *self._ticks))
        self._ticks, self._taken_at = [], tick.end
        return whole
