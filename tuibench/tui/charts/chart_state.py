"""State of the charts: zoom, cursor, and comparison of two spans.

The cursor is a time range of the run, not a column, so it keeps its position in the data while the charts
move.

Two spans selected by the operator are compared by TPS, QPS and p95, each with its 95 % interval. The
intervals are those of `metrics.inference.bootstrap`. The p95 of a span is the mean of its samples' p95,
weighted by their transactions: the screen has no histograms to merge.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from tuibench.metrics.inference.bootstrap import (
    RatioSeries,
    comparison_from_resamples,
    resample,
)
from tuibench.model.experiments.effect import Comparison, EffectFigure
from tuibench.tui.charts.history import ChartPoint
from tuibench.tui.charts.time_grid import ZOOMS, Zoom

MIN_POINTS = 4
"""Minimum number of measured points in each span."""


class SpanComparison(NamedTuple):
    """Differences between span A and span B; `reason` says why there are none, otherwise it is empty."""

    tps: Comparison | None = None
    qps: Comparison | None = None
    p95: Comparison | None = None
    reason: str = ""


def compare_spans(
    points: Sequence[ChartPoint], a: tuple[float, float], b: tuple[float, float]
) -> SpanComparison:
    """Compare the points measured within two spans; the start of a span is exclusive."""
    before, after = (_measured_points(points, span) for span in (a, b))
    for name, found in (("A", before), ("B", after)):
        if len(found) < MIN_POINTS:
            return SpanComparison(
                reason=f"span {name} has {len(found)} measured points, {MIN_POINTS} are needed"
            )
    return SpanComparison(
        tps=_ratio_comparison(EffectFigure.TPS, _rate_parts(before, "tps"), _rate_parts(after, "tps")),
        qps=_ratio_comparison(EffectFigure.TPS, _rate_parts(before, "qps"), _rate_parts(after, "qps")),
        p95=_ratio_comparison(EffectFigure.P95, _latency_parts(before), _latency_parts(after)),
    )


def _measured_points(points: Sequence[ChartPoint], span: tuple[float, float]) -> list[ChartPoint]:
    return [point for point in points if span[0] < point.elapsed_seconds <= span[1] and point.tps is not None]


def _rate_parts(points: Sequence[ChartPoint], name: str) -> RatioSeries:
    return RatioSeries(
        [getattr(point, name) * point.seconds for point in points], [point.seconds for point in points]
    )


def _latency_parts(points: Sequence[ChartPoint]) -> RatioSeries | None:
    known = [
        (point.p95_ms, (point.tps or 0.0) * point.seconds) for point in points if point.p95_ms is not None
    ]
    return (
        RatioSeries([p95 * count for p95, count in known], [count for _, count in known]) if known else None
    )


def _ratio_comparison(
    figure: EffectFigure, before: RatioSeries | None, after: RatioSeries | None
) -> Comparison | None:
    if before is None or after is None or not sum(before.below) or not sum(after.below):
        return None
    return comparison_from_resamples(figure, before.ratio, after.ratio, resample(before, after))


TimeRange = tuple[float, float]
"""Start and end, in seconds into the run."""

MAX_MARKS = 4
MAX_FIGURES = 4
"""Maximum number of figures on the charts of a screen."""


class ChartState(msgspec.Struct, frozen=True, kw_only=True):
    """Zoom, cursor, marks, pins and chosen figures.

    `zoom` is an index into `ZOOMS`; `cursor` is the time range of the selected column, None without a cursor.

    `marks` are the columns marked for a comparison: both ends of A, then of B. `difference` is the result
    once there are four. `pins` are the changes whose effects are pinned, by their last marker: one that is
    shown, or two that are compared. With `clock` the axis shows the time of day.

    `figures` are the keys of the figures on the charts, None while the operator has chosen none: each screen
    then shows its own. `on_live` are the figures that the first screen shows, too.
    """

    zoom: int = 0
    cursor: TimeRange | None = None
    marks: tuple[TimeRange, ...] = ()
    difference: SpanComparison | None = None
    pins: tuple[int, ...] = ()
    clock: bool = False
    figures: tuple[str, ...] | None = None
    on_live: tuple[str, ...] = ()

    @property
    def zoomed(self) -> Zoom:
        return ZOOMS[self.zoom]

    @property
    def is_engaged(self) -> bool:
        """True if there is a cursor, a span or a pin to clear."""
        return self.cursor is not None or bool(self.marks) or bool(self.pins)

    def points_at(self, elapsed_seconds: float) -> bool:
        """True if the cursor is at this time."""
        return self.cursor is not None and self.cursor[0] < elapsed_seconds <= self.cursor[1]

    @property
    def spans(self) -> tuple[TimeRange, ...]:
        """Spans A and B. A span without its second mark is as long as its first."""
        pairs = (self.marks[:2], self.marks[2:])
        return tuple((min(start for start, _ in pair), max(end for _, end in pair)) for pair in pairs if pair)
