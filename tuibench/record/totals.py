"""Histograms as the figures of a summary, in milliseconds."""

from tuibench.metrics.histogram import US_PER_MS, Histogram
from tuibench.model.summary import KindTotals, StatementTotals


def statement_totals(histogram: Histogram) -> StatementTotals:
    p50, p95, p99 = _milliseconds(histogram, 50, 95, 99)
    return StatementTotals(count=histogram.count, p50=p50, p95=p95, p99=p99, max=histogram.max_us / US_PER_MS)


def kind_totals(histogram: Histogram, *, retries: int = 0, rolled_back: int = 0) -> KindTotals:
    """One kind of transaction: its latencies, and what else was counted of it."""
    p50, p90, p95, p99 = _milliseconds(histogram, 50, 90, 95, 99)
    return KindTotals(
        count=histogram.count,
        p50=p50,
        p90=p90,
        p95=p95,
        p99=p99,
        max=histogram.max_us / US_PER_MS,
        rolled_back=rolled_back,
        retries=retries,
    )


def _milliseconds(histogram: Histogram, *percentiles: float) -> list[float]:
    return [us / US_PER_MS for us in histogram.percentiles(percentiles)]
