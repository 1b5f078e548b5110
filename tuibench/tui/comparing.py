"""Two spans of a run that the operator chose, compared: TPS, QPS and p95, each with its 95 % interval.

The arithmetic is that of the effects (`metrics.effect`). The p95 of a span is the mean of its seconds' p95,
weighted by their transactions: the screen has no histograms to merge.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tuibench.metrics.bootstrap import Parts, spread
from tuibench.metrics.effect import comparison
from tuibench.model.effect import Comparison, Figure
from tuibench.tui.history import Point

FEWEST = 4
"""Measured points in each span."""


class SpanDifference(NamedTuple):
    """What differs between span A and span B; `reason` says why nothing can be told, else it is empty."""

    tps: Comparison | None = None
    qps: Comparison | None = None
    p95: Comparison | None = None
    reason: str = ""


def compared(points: Sequence[Point], a: tuple[float, float], b: tuple[float, float]) -> SpanDifference:
    """Compares the points measured within two spans, of which each begins after its first moment."""
    before, after = (_within(points, span) for span in (a, b))
    for name, found in (("A", before), ("B", after)):
        if len(found) < FEWEST:
            return SpanDifference(reason=f"span {name} has {len(found)} measured points, {FEWEST} are needed")
    return SpanDifference(
        tps=_ratio(Figure.TPS, _rates(before, "tps"), _rates(after, "tps")),
        qps=_ratio(Figure.TPS, _rates(before, "qps"), _rates(after, "qps")),
        p95=_ratio(Figure.P95, _latencies(before), _latencies(after)),
    )


def _within(points: Sequence[Point], span: tuple[float, float]) -> list[Point]:
    return [point for point in points if span[0] < point.elapsed_seconds <= span[1] and point.tps is not None]


def _rates(points: Sequence[Point], name: str) -> Parts:
    return Parts(
        [getattr(point, name) * point.seconds for point in points], [point.seconds for point in points]
    )


def _latencies(points: Sequence[Point]) -> Parts | None:
    known = [
        (point.p95_ms, (point.tps or 0.0) * point.seconds) for point in points if point.p95_ms is not None
    ]
    return Parts([p95 * count for p95, count in known], [count for _, count in known]) if known else None


def _ratio(figure: Figure, before: Parts | None, after: Parts | None) -> Comparison | None:
    if before is None or after is None or not sum(before.below) or not sum(after.below):
        return None
    return comparison(figure, before.ratio, after.ratio, spread(before, after))
