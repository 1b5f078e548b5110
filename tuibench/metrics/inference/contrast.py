"""Comparison of two runs, figure by figure, relative to the noise of their own ticks.

A figure is a ratio of sums over ticks (transactions over seconds, errors over attempts) or a percentile of
all latencies; its interval is that of `bootstrap`. Other figures have a value and no interval. A long run's
ticks are merged to `MOST_SLOTS` slots first, which costs no accuracy: adjacent ticks are resampled together
anyway.
"""

from collections.abc import Callable, Sequence
from math import ceil
from typing import NamedTuple

from tuibench.metrics import figures
from tuibench.metrics.figures import Better, Figure
from tuibench.metrics.inference.bootstrap import (
    Quantile,
    RatioSeries,
    ResampledRatios,
    estimate_difference,
    resample,
)
from tuibench.model.experiments.effect import Verdict
from tuibench.model.results.comparison import ComparisonVerdict, Contrast
from tuibench.model.tick import Tick, total_tick

MOST_SLOTS = 400
FEWEST_SLOTS = 5
"""With fewer slots the noise cannot be estimated, and there is no verdict."""


TickSeries = Sequence[Tick]


def compare_figure(figure: Figure, first: TickSeries, other: TickSeries) -> Contrast:
    """Compare the figure of another run with that of the first."""
    before, after = _FigureResampler.of(figure, first), _FigureResampler.of(figure, other)
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
        verdict=judge(figure.better, found.verdict),
    )


def merge_ticks(ticks: Sequence[Tick], most: int = MOST_SLOTS) -> list[Tick]:
    """Merge adjacent ticks evenly, so that at most `most` remain."""
    length = max(1, ceil(len(ticks) / most))
    return [total_tick(ticks[at : at + length]) for at in range(0, len(ticks), length)]


def judge(better: Better | None, verdict: Verdict) -> ComparisonVerdict:
    """Better or worse, by the direction in which the figure should change; a figure without one can only be
    equal.
    """
    match verdict:
        case Verdict.EQUAL:
            return ComparisonVerdict.EQUAL
        case Verdict.CANNOT_TELL:
            return ComparisonVerdict.CANNOT_TELL
        case Verdict.HIGHER | Verdict.LOWER if better is None:
            return ComparisonVerdict.CANNOT_TELL
        case Verdict.HIGHER | Verdict.LOWER:
            return ComparisonVerdict.BETTER if verdict.value == better else ComparisonVerdict.WORSE


class _FigureResampler(NamedTuple):
    """The figure of one run, its resampling, and the conversion of resampled ratios to the figure."""

    value: float | None
    parts: RatioSeries
    read: Callable[[list[float]], list[float]]

    @classmethod
    def of(cls, figure: Figure, ticks: TickSeries) -> "_FigureResampler":
        if isinstance(figure.source, figures.Quantile) and 0 < figure.source.share < 1:
            histograms = [each for tick in ticks if (each := tick.hist(figure.source.of)).count]
            if not histograms:
                return cls(None, RatioSeries([], []), list)
            quantile = Quantile(histograms, figure.source.share)
            return cls(quantile.value_ms, quantile.parts, quantile.read)
        known = [parts for tick in ticks if (parts := figure.parts(tick)) is not None]
        if not sum(below for _, below in known):
            return cls(figure.value(total_tick(ticks)), RatioSeries([], []), list)
        series = RatioSeries([above for above, _ in known], [below for _, below in known])
        return cls(series.ratio, series, list)
