"""Latency heat map: time on the x axis, latency on a logarithmic y axis, density by share of transactions.

Shares are relative to the column's own transactions, so a slow second is as legible as a fast one. Density is
shown by glyphs, not by colours, for terminals with few colours and for slow connections.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tuibench.model.histogram import BUCKETS, UPPER_US
from tuibench.tui.chart_columns import chart_points
from tuibench.tui.charts.history import ChartPoint
from tuibench.tui.panels.plots.time_chart import AXIS_WIDTH, cursor_column, overlay
from tuibench.tui.text import drawing
from tuibench.tui.text.spans import TextLine, TextSpan, pad_line
from tuibench.tui.view import View

_UNITS = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"))
_JUST_BELOW = 0.999


class Density(NamedTuple):
    """A glyph, and the minimum share that it represents."""

    least: float
    glyph: str
    label: str


DENSITIES = (
    Density(0.25, "█", "25 % and more"),
    Density(0.08, "▓", "8 %"),
    Density(0.015, "▒", "1.5 %"),
    Density(0.002, "░", "0.2 %"),
    Density(0.0, "·", "any"),
)


class LatencyBand(NamedTuple):
    """A row of the map: buckets `first` to `last`."""

    first: int
    last: int

    @property
    def label(self) -> str:
        """Upper bound of the band."""
        value = UPPER_US[self.last]
        for factor, unit in _UNITS:
            if value >= factor * _JUST_BELOW:
                return f"{float(f'{value / factor:.2g}'):g} {unit}"
        raise AssertionError


def heat_map(view: View, width: int, height: int) -> list[TextLine]:
    """One row per latency band, the slowest on top; every second one is labelled."""
    columns = max(width - AXIS_WIDTH, 1)
    points = chart_points(view, columns)
    bands = _latency_bands(points, height)
    cursor = cursor_column(view, columns)
    lines: list[TextLine] = []
    for number, band in enumerate(bands):
        row: TextLine = (TextSpan("".join(_density_glyph(point, band) for point in points), "shade5"),)
        if cursor is not None:
            row = overlay(row, cursor, drawing.CURSOR, columns)
        label = band.label if number % 2 == 0 else ""
        lines.append((TextSpan(f"{label:>{AXIS_WIDTH - 1}} ", "muted"), *row))
    if not bands:
        lines.append(pad_line((TextSpan(" " * AXIS_WIDTH + "no latencies yet", "muted"),), width))
    return lines[:height]


def heat_map_legend(view: View, width: int, height: int) -> list[TextLine]:
    """Legend of the glyphs, as far as it fits."""
    lines: list[TextLine] = [(TextSpan("HEAT MAP", "title"),), (TextSpan("share of a column", "muted"),)]
    lines += [(TextSpan(each.glyph, "latency"), TextSpan(f"  {each.label}", "muted")) for each in DENSITIES]
    return [pad_line(line, width) for line in lines[:height]]


def _latency_bands(points: Sequence[ChartPoint | None], rows: int) -> list[LatencyBand]:
    """The used buckets in at most this number of rows, from the slowest down.

    Rows begin at whole multiples of their size, so that the map does not jump when a slower bucket is used.
    """
    used = [
        bucket
        for bucket in range(BUCKETS)
        if any(point is not None and point.counts and point.counts[bucket] for point in points)
    ]
    if not used or rows < 1:
        return []
    first, last = used[0], used[-1]
    each = next(size for size in range(1, BUCKETS + 1) if last // size - first // size < rows)
    numbers = range(last // each, first // each - 1, -1)
    return [LatencyBand(number * each, min((number + 1) * each, BUCKETS) - 1) for number in numbers]


def _density_glyph(point: ChartPoint | None, band: LatencyBand) -> str:
    if point is None or not point.counts:
        return " "
    count = sum(point.counts[band.first : band.last + 1])
    if not count:
        return " "
    share = count / sum(point.counts)
    return next(density.glyph for density in DENSITIES if share >= density.least)
