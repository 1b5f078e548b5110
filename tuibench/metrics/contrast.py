"""Two runs against each other, figure by figure, by the noise of their own ticks.

A figure is a ratio of sums over ticks (transactions over seconds, errors over attempts) or a percentile of
all latencies; its interval is that of `bootstrap`. A long run's ticks are added up to `MOST_SLOTS` slots
first, which costs no accuracy: neighbours are redrawn together anyway.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from math import ceil
from typing import Literal, NamedTuple

from tuibench.metrics.bootstrap import Parts, Spread, spread
from tuibench.metrics.effect import difference
from tuibench.metrics.histogram import Histogram, merged
from tuibench.metrics.quantile import Quantile
from tuibench.model.contrast import Contrast, Verdict

MOST_SLOTS = 400
FEWEST_SLOTS = 5
"""In fewer there is no noise to be seen, and nothing can be said."""


class Tick(NamedTuple):
    """What a tick of a run adds to its figures. None is what was not measured."""

    seconds: float
    transactions: float
    queries: float
    errors: float
    latency: Histogram
    log_fsyncs: float | None = None
    server_cpu_ms: float | None = None


Ticks = Sequence[Tick]


class Metric(NamedTuple):
    """One figure: its name for thresholds, its title and unit, and which way is better.

    It is the `share`-th quantile of the latencies, or the ratio of what `above` and `below` find in ticks.
    """

    name: str
    title: str
    unit: str
    better: Literal["higher", "lower"]
    share: float | None = None
    above: Callable[[Tick], float | None] = lambda tick: None
    below: Callable[[Tick], float] = lambda tick: tick.transactions
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
BY_NAME = {metric.name: metric for metric in METRICS}


def value_of(metric: Metric, ticks: Ticks) -> float | None:
    """The figure of one run; None where it was not measured."""
    return _Told.of(metric, ticks).value


def contrast(metric: Metric, first: Ticks, other: Ticks) -> Contrast:
    """The figure of another run against that of the first."""
    before, after = _Told.of(metric, first), _Told.of(metric, other)
    if before.value is None or after.value is None:
        return Contrast(value=after.value)
    relative = after.value / before.value if before.value else (1.0 if not after.value else None)
    if min(len(before.parts.above), len(after.parts.above)) < FEWEST_SLOTS:
        percent = None if relative is None else 100 * (relative - 1)
        return Contrast(value=after.value, relative=relative, percent=percent)
    redrawn = spread(before.parts, after.parts)
    found = difference(
        before.value,
        after.value,
        Spread(before.read(redrawn.before), after.read(redrawn.after), redrawn.scale),
    )
    return Contrast(
        value=after.value,
        relative=relative,
        percent=found.percent,
        low=found.percent_low,
        high=found.percent_high,
        verdict=_verdict(metric, found.delta) if found.differs else Verdict.SAME,
    )


def coarse(ticks: Iterable[Tick], count: int, most: int = MOST_SLOTS) -> list[Tick]:
    """The `count` ticks, as many neighbours added up as it takes to have no more than `most`."""
    length = max(1, ceil(count / most))
    waiting, found = iter(ticks), []
    while several := list(islice(waiting, length)):
        found.append(_added(several))
    return found


def _added(ticks: Ticks) -> Tick:
    if len(ticks) == 1:
        return ticks[0]
    return Tick(
        sum(tick.seconds for tick in ticks),
        sum(tick.transactions for tick in ticks),
        sum(tick.queries for tick in ticks),
        sum(tick.errors for tick in ticks),
        merged(tick.latency for tick in ticks),
        _known_sum([tick.log_fsyncs for tick in ticks]),
        _known_sum([tick.server_cpu_ms for tick in ticks]),
    )


def _known_sum(values: Sequence[float | None]) -> float | None:
    """A sum over ticks stands for all of them, or for nothing."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _verdict(metric: Metric, delta: float) -> Verdict:
    return Verdict.BETTER if (delta > 0) is (metric.better == "higher") else Verdict.WORSE


class _Told(NamedTuple):
    """A run's figure, what its redrawing is made of, and how redrawn ratios become the figure again."""

    value: float | None
    parts: Parts
    read: Callable[[list[float]], list[float]]

    @classmethod
    def of(cls, metric: Metric, ticks: Ticks) -> "_Told":
        if metric.share is not None:
            histograms = [tick.latency for tick in ticks if tick.latency.count]
            if not histograms:
                return cls(None, Parts([], []), list)
            quantile = Quantile(histograms, metric.share)
            return cls(quantile.value_ms, quantile.parts, quantile.read)
        known = [(above, metric.below(tick)) for tick in ticks if (above := metric.above(tick)) is not None]
        if not sum(below for _, below in known):
            return cls(None, Parts([], []), list)
        parts = Parts([metric.factor * above for above, _ in known], [below for _, below in known])
        return cls(parts.ratio, parts, list)
