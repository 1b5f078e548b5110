"""Comparison of two runs, figure by figure, relative to the noise of their own ticks.

A figure is a ratio of sums over ticks (transactions over seconds, errors over attempts) or a percentile of
all latencies; its interval is that of `bootstrap`. A long run's ticks are merged to `MOST_SLOTS` slots
first, which costs no accuracy: adjacent ticks are resampled together anyway.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from math import ceil
from typing import Literal, NamedTuple

from tuibench.metrics.histogram import Histogram, merge_histograms
from tuibench.metrics.inference.bootstrap import (
    Quantile,
    RatioSeries,
    ResampledRatios,
    estimate_difference,
    resample,
)
from tuibench.model.experiments.effect import Verdict
from tuibench.model.results.comparison import ComparisonVerdict, Contrast

MOST_SLOTS = 400
FEWEST_SLOTS = 5
"""With fewer slots the noise cannot be estimated, and there is no verdict."""


class TickTotals(NamedTuple):
    """A tick's contribution to the figures of a run. None is not measured."""

    seconds: float
    transactions: float
    queries: float
    errors: float
    latency: Histogram
    log_fsyncs: float | None = None
    server_cpu_ms: float | None = None


TickSeries = Sequence[TickTotals]


class Metric(NamedTuple):
    """One figure: its name for thresholds, its title and unit, and which direction is better.

    It is the `share`-th quantile of the latencies, or the ratio of the sums of `above` and `below` over
    ticks.
    """

    name: str
    title: str
    unit: str
    better: Literal["higher", "lower"]
    share: float | None = None
    above: Callable[[TickTotals], float | None] = lambda tick: None
    below: Callable[[TickTotals], float] = lambda tick: tick.transactions
    factor: float = 1.0


METRICS = (
    Metric("tps", "TPS", "/s", "higher", None, lambda tick: tick.transactions, lambda tick: tick.seconds),
    Metric("qps", "QPS", "/s", "higher", None, lambda tick: tick.queries, lambda tick: tick.seconds),
    Metric("p50", "p50", "ms", "lower", 0.50),
    Metric("p95", "p95", "ms", "lower", 0.95),
    Metric("p99", "p99", "ms", "lower", 0.99),
    Metric(
        "errors",
        "errors",
        "%",
        "lower",
        None,
        lambda tick: tick.errors,
        lambda tick: tick.transactions + tick.errors,
        100.0,
    ),
    Metric("cpu", "server CPU per transaction", "ms", "lower", None, lambda tick: tick.server_cpu_ms),
    Metric("fsyncs", "log fsyncs per transaction", "", "lower", None, lambda tick: tick.log_fsyncs),
)
METRICS_BY_NAME = {metric.name: metric for metric in METRICS}


def metric_value(metric: Metric, ticks: TickSeries) -> float | None:
    """The figure of one run; None if not measured."""
    return _MetricResampler.of(metric, ticks).value


def compare_metric(metric: Metric, first: TickSeries, other: TickSeries) -> Contrast:
    """Compare the figure of another run with that of the first."""
    before, after = _MetricResampler.of(metric, first), _MetricResampler.of(metric, other)
    if before.value is None or after.value is None:
        return Contrast(value=after.value)
    relative = after.value / before.value if before.value else (1.0 if not after.value else None)
    if min(len(before.parts.above), len(after.parts.above)) < FEWEST_SLOTS:
        percent = None if relative is None else 100 * (relative - 1)
        return Contrast(value=after.value, relative=relative, percent=percent)
    resampled = resample(before.parts, after.parts)
    found = estimate_difference(
        before.value,
        after.value,
        ResampledRatios(before.read(resampled.before), after.read(resampled.after), resampled.scale),
    )
    return Contrast(
        value=after.value,
        relative=relative,
        percent=found.percent,
        low=found.percent_low,
        high=found.percent_high,
        verdict=judge(metric.better, found.verdict),
    )


def merge_ticks(ticks: Iterable[TickTotals], count: int, most: int = MOST_SLOTS) -> list[TickTotals]:
    """Merge adjacent ticks evenly, so that at most `most` remain; `count` is the number of ticks."""
    length = max(1, ceil(count / most))
    waiting, found = iter(ticks), []
    while several := list(islice(waiting, length)):
        found.append(_sum_ticks(several))
    return found


def _sum_ticks(ticks: TickSeries) -> TickTotals:
    if len(ticks) == 1:
        return ticks[0]
    return TickTotals(
        sum(tick.seconds for tick in ticks),
        sum(tick.transactions for tick in ticks),
        sum(tick.queries for tick in ticks),
        sum(tick.errors for tick in ticks),
        merge_histograms(tick.latency for tick in ticks),
        _known_sum([tick.log_fsyncs for tick in ticks]),
        _known_sum([tick.server_cpu_ms for tick in ticks]),
    )


def _known_sum(values: Sequence[float | None]) -> float | None:
    """The sum over ticks; None if any tick lacks it."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def judge(better: Literal["higher", "lower"], verdict: Verdict) -> ComparisonVerdict:
    """Better or worse, by the direction in which the figure should change."""
    match verdict:
        case Verdict.EQUAL:
            return ComparisonVerdict.EQUAL
        case Verdict.CANNOT_TELL:
            return ComparisonVerdict.CANNOT_TELL
        case Verdict.HIGHER | Verdict.LOWER:
            return ComparisonVerdict.BETTER if verdict.value == better else ComparisonVerdict.WORSE


class _MetricResampler(NamedTuple):
    """The figure of one run, its resampling, and the conversion of resampled ratios to the figure."""

    value: float | None
    parts: RatioSeries
    read: Callable[[list[float]], list[float]]

    @classmethod
    def of(cls, metric: Metric, ticks: TickSeries) -> "_MetricResampler":
        if metric.share is not None:
            histograms = [tick.latency for tick in ticks if tick.latency.count]
            if not histograms:
                return cls(None, RatioSeries([], []), list)
            quantile = Quantile(histograms, metric.share)
            return cls(quantile.value_ms, quantile.parts, quantile.read)
        known = [(above, metric.below(tick)) for tick in ticks if (above := metric.above(tick)) is not None]
        if not sum(below for _, below in known):
            return cls(None, RatioSeries([], []), list)
        parts = RatioSeries([metric.factor * above for above, _ in known], [below for _, below in known])
        return cls(parts.ratio, parts, list)
