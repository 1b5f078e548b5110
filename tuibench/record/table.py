"""A run as CSV: a row an interval. The first ten columns are those of sysbench's report_csv, in its order."""

from tuibench.metrics.histogram import US_PER_MS
from tuibench.record.text import Interval

SYSBENCH_COLUMNS = (
    "time", "threads", "tps", "qps", "reads", "writes", "other", "latency_pct", "errors", "reconnects",
)  # fmt: skip
"""All but the first two are rates, apart from `latency_pct`: ms, of the percentile that was asked for."""

OWN_COLUMNS = (
    "seconds", "transactions", "rate", "backlog", "concurrency",
    "latency_min", "latency_avg", "latency_p50", "latency_p95", "latency_p99", "latency_p999", "latency_max",
)  # fmt: skip
"""Latencies are in ms, and empty in an interval without a transaction."""

HEADER = ",".join((*SYSBENCH_COLUMNS, *OWN_COLUMNS)) + "\n"


def row(elapsed_seconds: float, interval: Interval, percentile: float) -> str:
    """One interval, ending in a newline. A percentile of 0 is none."""
    return ",".join((*_as_sysbench(elapsed_seconds, interval, percentile), *_more(interval))) + "\n"


def _as_sysbench(elapsed_seconds: float, interval: Interval, percentile: float) -> list[str]:
    seconds = interval.seconds or 1.0
    (latency_us,) = interval.latency.percentiles((percentile,)) if percentile else (0.0,)
    queries = interval.reads + interval.writes + interval.others
    counts = (interval.transactions, queries, interval.reads, interval.writes, interval.others)
    return [
        f"{elapsed_seconds:.3f}".rstrip("0").rstrip("."),
        str(interval.threads),
        *(f"{count / seconds:4.2f}" for count in counts),
        f"{latency_us / US_PER_MS:4.2f}",
        f"{interval.errors / seconds:4.2f}",
        f"{interval.reconnects / seconds:4.2f}",
    ]


def _more(interval: Interval) -> list[str]:
    latency = interval.latency.latency()
    told = () if latency is None else (
        latency.min, latency.avg, latency.p50, latency.p95, latency.p99, latency.p999, latency.max,
    )  # fmt: skip
    return [
        f"{interval.seconds:.3f}",
        str(interval.transactions),
        f"{interval.rate:g}",
        str(interval.backlog),
        str(interval.in_flight),
        *(f"{ms:.3f}" for ms in told),
        *[""] * (7 - len(told)),
    ]
