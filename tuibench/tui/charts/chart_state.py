"""State of the charts: zoom, cursor, and the spans to compare.

The cursor is a stretch of the run and not a column, so it stays with what it points at while the charts move.

Two spans of a run that the operator chose, compared: TPS, QPS and p95, each with its 95 % interval.

Intervals are those of `metrics.inference.bootstrap`. The p95 of a span is the mean of its seconds' p95,
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
"""Measured points in each span."""


class SpanComparison(NamedTuple):
    """What differs between span A and span B; `reason` says why nothing can be told, else it is empty."""

    tps: Comparison | None = None
    qps: Comparison | None = None
    p95: Comparison | None = None
    reason: str = ""


def compare_spans(
    points: Sequence[ChartPoint], a: tuple[float, float], b: tuple[float, float]
) -> SpanComparison:
    """Compares the points measured within two spans, of which each begins after its first moment."""
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
"""From when to when, in seconds into the run."""

MAX_MARKS = 4
MAX_FIGURES = 4
"""Figures on the charts of a screen."""


class ChartState(msgspec.Struct, frozen=True, kw_only=True):
    """`zoom` is a place in `ZOOMS`; `cursor` is the time of the column pointed at, None when there is none.

    `marks` are the columns that were marked for a comparison: A's two ends, then B's. `difference` is what
    came of it, once there are four. `pins` are the changes whose effects are pinned, by their last marker:
    one that is shown, or two that are compared. With `clock` the axis has the time of day.

    `figures` are those that the operator has put on the charts, by their keys, None as long as none was
    chosen: a screen then has its own. `on_live` are those that the first screen shows, too.
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
        """Whether there is something to be ended: a cursor, spans, or pins."""
        return self.cursor is not None or bool(self.marks) or bool(self.pins)

    def points_at(self, elapsed_seconds: float) -> bool:
        """Whether the cursor points at this moment."""
        return self.cursor is not None and self.cursor[0] < elapsed_seconds <= self.cursor[1]

    @property
    def spans(self) -> tuple[TimeRange, ...]:
        """Span A, and span B; one that has no second mark yet is as long as its first."""
        pairs = (self.marks[:2], self.marks[2:])
        return tuple((min(start for start, _ in pair), max(end for _, end in pair)) for pair in pairs if pair)
