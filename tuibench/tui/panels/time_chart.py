"""Charts over time and the latency heat map.

Time chart: rule at the axis maximum, bars, change markers, and the value at the cursor.

The means of the shown effect are drawn over the bars. A chart of one row has no rule: the values before and
after the change are written beside the marker.

Latency heat map: time on the x axis, latency on a logarithmic y axis, density by share of transactions.

Shares are relative to the column's own transactions, so a slow second is as legible as a fast one. Density is
shown by glyphs, not by colours, for terminals with few colours and for slow connections.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tuibench.effects.panel import MeanLine, Signature, signature_of
from tuibench.model.tick import BUCKETS, UPPER_US
from tuibench.tui import text as drawing
from tuibench.tui.actions import ACTIONS_BY_NAME, action_key
from tuibench.tui.charts import ChartPoint, chart_scale
from tuibench.tui.panels.load import Measure
from tuibench.tui.text import TextLine, TextSpan, merge_cells, pad_line
from tuibench.tui.view import View, change_markers, chart_points, view_grid
from tuibench.units import DASH, hms, local_time

AXIS_WIDTH = 7
"""Cells left of the bars, for the axis labels."""

GUTTER = 18 + AXIS_WIDTH
"""Cells left of the bars if there is a big number beside them."""

FILLED_CELLS = "▄▅▆▇█=#"
"""Bars that fill at least half of their cell: a mean is drawn on their background."""
SHADES = 8
"""A bar row's role is shade0 (the baseline) to shade7 (the top): one style per row keeps output small."""


MEAN_ROLE, UNCERTAIN_ROLE = "mean", "uncertain"
"""Roles of a mean above the bars; over a bar, ON_BAR is appended."""
ON_BAR = "-bar"


def time_chart(
    measure: Measure, view: View, width: int, height: int, *, numbered: bool, ascii_only: bool = False
) -> list[TextLine]:
    """The chart in `width` × `height` cells; `numbered` puts the markers' numbers on its rule."""
    columns = max(width - AXIS_WIDTH, 1)
    values = [measure.value(point) if point else None for point in chart_points(view, columns)]
    present = [value for value in values if value is not None]
    changes = change_markers(view, columns)
    sign = signature_of(measure, view, columns)
    cursor = cursor_column(view, columns)
    reading = _cursor_reading(measure, values[cursor]) if cursor is not None else ""
    base, end = chart_scale(present, may_rise=measure.may_rise, is_bytes=measure.is_bytes)
    label, lowest = (measure.axis(end), measure.axis(base) if base else "0") if present else ("", "0")
    values, top = [None if value is None else value - base for value in values], end - base
    if height == 1:
        body = _bar_rows(values, top, 1, changes, sign, ascii_only=ascii_only)
        return [(axis_label(label), *_with_cursor(body[0], cursor, reading, columns))]
    rule = _maximum_rule(columns, changes, numbered=numbered)
    if sign is not None:
        rule = _add_difference(rule, sign, columns, numbered=numbered)
    rows = _bar_rows(values, top, height - 1, changes, sign, ascii_only=ascii_only)
    return [
        (axis_label(label), *_with_cursor(rule, cursor, reading, columns)),
        *(
            (axis_label(lowest if number == height - 2 else ""), *_with_cursor(row, cursor, "", columns))
            for number, row in enumerate(rows)
        ),
    ]


def _bar_rows(
    values: Sequence[float | None],
    top: float,
    height: int,
    changes: Mapping[int, int],
    sign: Signature | None,
    *,
    ascii_only: bool,
) -> list[TextLine]:
    """The bars from the top down, crossed by the markers, with the means over them."""
    rows = drawing.draw_bars(values, top, height, ascii_only=ascii_only)
    lines: list[TextLine] = []
    for number, row in enumerate(rows):
        shade = round((height - 1 - number) / (height - 1) * (SHADES - 1)) if height > 1 else SHADES // 2
        cells = [(glyph, f"shade{shade}") for glyph in drawing.strike_markers(row, changes)]
        for mean in sign.means if sign else ():
            _put_mean(cells, mean, sign, top, height, height - 1 - number)
        lines.append(merge_cells(cells))
    return lines


def _put_mean(
    cells: list[tuple[str, str]],
    mean: MeanLine,
    sign: Signature | None,
    top: float,
    height: int,
    from_bottom: int,
) -> None:
    """Draw the line of a mean and its value beside the marker; in a chart of one row the value only."""
    row, glyph = mean.place(top, height)
    if sign is None or row != from_bottom:
        return
    role = UNCERTAIN_ROLE if sign.role == "muted" else MEAN_ROLE
    for column in range(mean.first, mean.last + 1) if height > 1 else ():
        if column != sign.marker:
            under = cells[column][0]
            cells[column] = (glyph, role + ON_BAR if under in FILLED_CELLS else role)
    start = mean.label_start(sign.marker)
    for column, letter in enumerate(mean.label, start):
        if 0 <= column < len(cells):
            cells[column] = (letter, "reading")


def _add_difference(rule: TextLine, sign: Signature, width: int, *, numbered: bool) -> TextLine:
    """Draw the difference beside the marker, on the side with room."""
    if not sign.difference:
        return rule
    text = f" {sign.difference} "
    gap = 1 + 2 * numbered
    start = sign.marker + gap if sign.marker + gap + len(text) <= width else sign.marker - len(text)
    return overlay(rule, start, text, width, sign.role)


def _with_cursor(line: TextLine, cursor: int | None, reading: str, width: int) -> TextLine:
    """Draw the cursor's line through a row, with a value beside it, if any."""
    if cursor is None:
        return line
    if reading:
        return _add_reading(line, cursor, reading, width)
    return overlay(line, cursor, drawing.CURSOR, width, "strong")


def time_axis_lines(view: View, width: int, height: int, *, gutter: int = GUTTER) -> list[TextLine]:
    """Time axis below the last chart, with the cursor's time and the spans; the zoom is left of it."""
    columns = max(width - gutter, 1)
    chosen = view_grid(view, columns)
    marks: list[tuple[int, str]] = []
    for name, (start, end) in zip("AB", view.chart_state.spans, strict=False):
        first, last = (
            chosen.column_at(start + chosen.interval_seconds),
            chosen.column_at(end) + chosen.cells - 1,
        )
        marks.append((first, _span_bracket(name, last - first + 1)))
    cursor = cursor_column(view, columns)
    if cursor is not None and view.chart_state.cursor is not None:
        label = _cursor_time(view.chart_state.cursor, merged=chosen.slots > 1)
        marks.append((min(max(cursor - len(label) // 2, 0), columns - len(label)), label))
    text: TextLine = (
        TextSpan(_without_covered(_axis_text(view, columns, chosen.column_seconds), marks), "muted"),
    )
    for column, mark in marks:
        text = overlay(text, column, mark, columns)
    return [(*_axis_gutter(view, gutter), *text)][:height]


def _without_covered(labels: str, marks: Sequence[tuple[int, str]]) -> str:
    """The axis labels without those that a mark covers in part: the rest of `−30s` would read `−3`."""

    def kept(label: re.Match[str]) -> str:
        is_covered = any(at < label.end() and at + len(mark) > label.start() for at, mark in marks)
        return " " * len(label[0]) if is_covered else label[0]

    return re.sub(r"\S+", kept, labels)


def _axis_text(view: View, columns: int, column_seconds: float) -> str:
    """Seconds ago, or the time of day if selected and known."""
    if view.chart_state.clock and view.sample is not None:
        return drawing.clock_axis_text(columns, column_seconds, view.sample.at, local_time)
    return drawing.time_axis_text(columns, column_seconds)


def cursor_column(view: View, columns: int) -> int | None:
    """Column of the cursor, None if it is not visible."""
    if view.chart_state.cursor is None:
        return None
    column = view_grid(view, columns).column_at(view.chart_state.cursor[1])
    return column if 0 <= column < columns else None


def _axis_gutter(view: View, width: int) -> TextLine:
    """Length of the visible time, and its keys; blank if there is room for the axis labels only."""
    if width <= AXIS_WIDTH:
        return pad_line((), width)
    left, right, zoom = (
        TextSpan(action_key(ACTIONS_BY_NAME[name], view), "key")
        for name in ("cursor_left", "cursor_right", "zoom_out")
    )
    shown = (
        TextSpan(f" {view.chart_state.zoomed.label}  ", "strong")
        if view.chart_state.zoom
        else TextSpan(" zoom  ", "muted")
    )
    return pad_line((zoom, shown, left, TextSpan(" "), right, TextSpan(" cursor", "muted")), width)


def _cursor_time(cursor: tuple[float, float], *, merged: bool) -> str:
    """Time of the cursor; start and end for a column of several ticks."""
    start, end = (hms(each) for each in cursor)
    return f" {start}–{end} " if merged else f" {end} "


def _span_bracket(name: str, width: int) -> str:
    return f"├{name:─^{width - 2}}┤" if width > 2 else name * width


def _cursor_reading(measure: Measure, value: float | None) -> str:
    return f" {' '.join(measure.big(value)).rstrip() if value is not None else f'{DASH} not measured'} "


def axis_label(label: str) -> TextSpan:
    """A label in the cells left of the bars."""
    return TextSpan(f"{label:>{AXIS_WIDTH - 1}} ", "muted")


def _maximum_rule(width: int, changes: Mapping[int, int], *, numbered: bool) -> TextLine:
    if not numbered:
        return (TextSpan(drawing.strike_markers(drawing.RULE * width, changes, drawing.CROSSING), "faint"),)
    spans: list[TextSpan] = []
    end = 0
    for start, text in sorted(drawing.marker_labels(changes, width).items()):
        spans += [TextSpan(drawing.RULE * (start - end), "faint"), TextSpan(text, "badge")]
        end = start + len(text)
    return (*spans, TextSpan(drawing.RULE * (width - end), "faint"))


def _add_reading(rule: TextLine, cursor: int, text: str, width: int) -> TextLine:
    """Draw the value beside the cursor's line, on the side with room."""
    start = cursor + 1 if cursor + 1 + len(text) <= width else cursor - len(text)
    return overlay(overlay(rule, cursor, drawing.CURSOR, width), start, text, width)


def overlay(line: TextLine, start: int, text: str, width: int, role: str = "reading") -> TextLine:
    """The line with a text over its cells from `start`, clipped to the line."""
    text = text[max(0, -start) :][: max(0, width - max(start, 0))]
    start = max(start, 0)
    if not text:
        return line
    return (
        *_slice_line(line, 0, start),
        TextSpan(text, role),
        *_slice_line(line, start + len(text), width),
    )


def _slice_line(line: TextLine, start: int, end: int) -> TextLine:
    """The cells from `start` to `end`, exclusive."""
    kept: list[TextSpan] = []
    place = 0
    for span in line:
        text = span.text[max(start - place, 0) : max(end - place, 0)]
        kept += [span._replace(text=text)] if text else []
        place += len(span.text)
    return tuple(kept)


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
