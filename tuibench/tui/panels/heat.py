"""The latency heat map: time to the right, latency upwards on a log scale, a denser cell for a larger share.

Shares are of the column's own transactions, so a slow second is as legible as a quick one. The density is
that of a glyph and not of a colour, for terminals that have few of them and for slow lines.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tuibench.metrics.shape import BUCKETS, UPPER_US
from tuibench.tui import drawing
from tuibench.tui.columns import window
from tuibench.tui.history import Point
from tuibench.tui.panels.plot import AXIS_WIDTH, cursor_column, overlaid
from tuibench.tui.spans import Line, Span, pad
from tuibench.tui.view import View

_UNITS = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"))
_JUST_BELOW = 0.999


class Density(NamedTuple):
    """A glyph for a share of at least so much."""

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


class Band(NamedTuple):
    """A row of the map: buckets `first` to `last`."""

    first: int
    last: int

    @property
    def label(self) -> str:
        """Up to how slow."""
        value = UPPER_US[self.last]
        for factor, unit in _UNITS:
            if value >= factor * _JUST_BELOW:
                return f"{float(f'{value / factor:.2g}'):g} {unit}"
        raise AssertionError


def heat(view: View, width: int, height: int) -> list[Line]:
    """A row for each band of latencies, the slowest on top; every second one is labelled."""
    columns = max(width - AXIS_WIDTH, 1)
    points = window(view, columns)
    bands = _bands(points, height)
    cursor = cursor_column(view, columns)
    lines: list[Line] = []
    for number, band in enumerate(bands):
        row: Line = (Span("".join(_glyph(point, band) for point in points), "shade5"),)
        if cursor is not None:
            row = overlaid(row, cursor, drawing.CURSOR, columns)
        label = band.label if number % 2 == 0 else ""
        lines.append((Span(f"{label:>{AXIS_WIDTH - 1}} ", "muted"), *row))
    if not bands:
        lines.append(pad((Span(" " * AXIS_WIDTH + "no latencies yet", "muted"),), width))
    return lines[:height]


def legend(view: View, width: int, height: int) -> list[Line]:
    """What the glyphs mean, as far as there is room."""
    lines: list[Line] = [(Span("HEAT MAP", "title"),), (Span("share of a column", "muted"),)]
    lines += [(Span(each.glyph, "latency"), Span(f"  {each.label}", "muted")) for each in DENSITIES]
    return [pad(line, width) for line in lines[:height]]


def _bands(points: Sequence[Point | None], rows: int) -> list[Band]:
    """The buckets that were used in at most so many rows, from the slowest down.

    Rows begin at whole multiples of their size: the map does not jump when one slower bucket is used.
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
    return [Band(number * each, min((number + 1) * each, BUCKETS) - 1) for number in numbers]


def _glyph(point: Point | None, band: Band) -> str:
    if point is None or not point.counts:
        return " "
    count = sum(point.counts[band.first : band.last + 1])
    if not count:
        return " "
    share = count / sum(point.counts)
    return next(density.glyph for density in DENSITIES if share >= density.least)
