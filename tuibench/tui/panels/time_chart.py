"""Charts: over time, latency heat map, CPU, selected figures, and a probe's levels.

The means of the shown effect are drawn over the bars. A chart of one row has no rule; it has the values
before and after the change beside the marker.

Shares in the heat map are relative to the transactions of their column, so that a slow second is as legible
as a fast one. They are shown by glyphs, not by colours, for terminals with few colours and slow connections.
"""

import math
import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from tuibench.base.errors import UsageError, did_you_mean
from tuibench.base.units import DASH, axis_maximum, count, hms, local_time, milliseconds, percent, si
from tuibench.metrics.figures import FIGURES, FigureUnit, read
from tuibench.metrics.thresholds import Threshold, parse_objectives
from tuibench.model.probe import ProbeState, ProbeStep, StepPurpose
from tuibench.model.schedule import Quantity
from tuibench.model.tick import BUCKETS, UPPER_US
from tuibench.tui import text as drawing
from tuibench.tui.actions import ACTIONS_BY_NAME, action_key
from tuibench.tui.charts import ChartPoint, chart_scale
from tuibench.tui.figures import OTHERS_SECTION, SOURCES, figure_key, figure_of, figure_value
from tuibench.tui.panels.effects import MeanLine, Signature, signature_of
from tuibench.tui.panels.load import FSYNCS, MEASURES, Measure, big_latency, big_rate, measures_of
from tuibench.tui.panels.numbers import CPU_BAR_PARTS, cpu_parts, cpu_role
from tuibench.tui.text import (
    DOTS_ACROSS,
    DOTS_HIGH,
    DotGrid,
    TextLine,
    TextSpan,
    fit_line,
    join_parts,
    justify,
    merge_cells,
    pad_line,
    shorten,
)
from tuibench.tui.view import View, change_bands, change_markers, chart_points, view_grid

AXIS_WIDTH = 7
"""Number of cells left of the bars, for the axis labels."""

GUTTER = 18 + AXIS_WIDTH
"""Number of cells left of the bars if there is a big number beside them."""

FILLED_CELLS = "▄▅▆▇█=#"
"""Glyphs that fill at least half of their cell: a mean is drawn over them with their colour as background."""
NOT_PART, NOT_PART_ASCII = "░", ":"
"""Cells of a bar above the part of it that counts, such as transactions that came too late."""
SHADES = 8
"""Number of roles of bars: shade0 at the baseline to shade7 at the top. With one style per row, the output is
small.
"""


MEAN_ROLE, UNCERTAIN_ROLE = "mean", "uncertain"
"""Roles of a mean above the bars; over a bar, `ON_BAR` is appended."""
ON_BAR = "-bar"


def time_chart(
    measure: Measure, view: View, width: int, height: int, *, numbered: bool, ascii_only: bool = False
) -> list[TextLine]:
    """The chart of a measure in `width` × `height` cells; with `numbered`, its rule has the markers'
    numbers.
    """
    columns = max(width - AXIS_WIDTH, 1)
    points = chart_points(view, columns)
    values = [measure.value(point) if point else None for point in points]
    parts = [measure.part(point) if point else None for point in points]
    present = [value for value in values if value is not None]
    struck = _struck_columns(view, columns)
    sign = signature_of(measure, view, columns)
    cursor = cursor_column(view, columns)
    reading = ""
    if cursor is not None:
        value = values[cursor]
        reading = f" {measure.text(value) if value is not None else f'{DASH} not measured'} "
    base, end = chart_scale(present, may_rise=measure.may_rise, is_bytes=measure.is_bytes)
    label, lowest = (measure.axis(end), measure.axis(base) if base else "0") if present else ("", "0")
    values, top = [None if value is None else value - base for value in values], end - base
    covered = _covered_by_cursor(cursor, reading, columns)
    if height == 1:
        body = _bar_rows(values, top, 1, struck, sign, covered, ascii_only=ascii_only)
        return [(axis_label(label), *_with_cursor(body[0], cursor, reading, columns))]
    rule = _maximum_rule(view, columns, numbered=numbered)
    if sign is not None:
        rule = _add_difference(rule, sign, columns, covered, numbered=numbered)
    line = _covered_by_cursor(cursor, "", columns)
    rows = _bar_rows(values, top, height - 1, struck, sign, line, parts, ascii_only=ascii_only)
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
    struck: frozenset[int],
    sign: Signature | None,
    covered: range,
    parts: Sequence[float | None] = (),
    *,
    ascii_only: bool,
) -> list[TextLine]:
    """The rows of bars from the top down, with markers and means. Means leave out the columns that the cursor
    covers. Above its part, a bar is hatched.
    """
    rows = drawing.draw_bars(values, top, height, ascii_only=ascii_only)
    inner = (
        drawing.draw_bars(parts, top, height, ascii_only=ascii_only)
        if any(part is not None for part in parts)
        else []
    )
    hatch = NOT_PART_ASCII if ascii_only else NOT_PART
    lines: list[TextLine] = []
    for number, row in enumerate(rows):
        shade = round((height - 1 - number) / (height - 1) * (SHADES - 1)) if height > 1 else SHADES // 2
        struck_row = drawing.strike_markers(row, struck)
        cells = [(glyph, f"shade{shade}") for glyph in struck_row]
        for column, glyph in enumerate(inner[number] if inner else ""):
            is_part = parts[column] is None or glyph in FILLED_CELLS or glyph == row[column]
            if row[column] != " " and not is_part:
                is_tip = row[column] not in FILLED_CELLS
                cells[column] = (row[column] if is_tip else hatch, "muted")
        for mean in sign.means if sign else ():
            _put_mean(cells, mean, sign, top, height, height - 1 - number, covered)
        lines.append(merge_cells(cells))
    return lines


def _put_mean(
    cells: list[tuple[str, str]],
    mean: MeanLine,
    sign: Signature | None,
    top: float,
    height: int,
    from_bottom: int,
    covered: range,
) -> None:
    """Draw the line of a mean, and its value beside the marker; in a chart of one row the value only.

    A value that does not fit, or that the cursor partly covers, is left out: the visible digits would be
    another value.
    """
    row, glyph = mean.place(top, height)
    if sign is None or row != from_bottom:
        return
    role = UNCERTAIN_ROLE if sign.role == "muted" else MEAN_ROLE
    for column in range(mean.first, mean.last + 1) if height > 1 else ():
        if column != sign.marker:
            under = cells[column][0]
            cells[column] = (glyph, role + ON_BAR if under in FILLED_CELLS else role)
    start = mean.label_start(sign.marker)
    if start < 0 or start + len(mean.label) > len(cells) or _overlap(start, mean.label, covered):
        return
    for column, letter in enumerate(mean.label, start):
        cells[column] = (letter, "reading")
    if mean.label and 0 <= sign.marker < len(cells):
        cells[sign.marker] = (drawing.MARKER, "reading")


def _add_difference(
    rule: TextLine, sign: Signature, width: int, covered: range, *, numbered: bool
) -> TextLine:
    """Draw the difference beside the marker, on the side with room, unless the cursor partly covers it.

    It never covers another number, because the card below the charts has the difference, too.
    """
    text = f" {sign.difference} "
    sides = [
        start
        for start in (sign.marker + 1 + 2 * numbered, sign.marker - len(text))
        if start >= 0 and start + len(text) <= width
        if not any(span.role == "badge" for span in _slice_line(rule, start, start + len(text)))
    ]
    if not sign.difference or not sides or _overlap(sides[0], text, covered):
        return rule
    return overlay(rule, sides[0], text, width, sign.role)


def _overlap(start: int, text: str, covered: range) -> bool:
    """True if a text that begins at this column overlaps the covered columns, apart from its blank
    margins.
    """
    end = start + len(text.rstrip())
    start += len(text) - len(text.lstrip())
    return start < covered.stop and covered.start < end


def _covered_by_cursor(cursor: int | None, reading: str, width: int) -> range:
    """The columns of the cursor and of the value beside it."""
    if cursor is None:
        return range(0)
    start = _reading_start(cursor, reading, width)
    return range(min(cursor, start), max(cursor + 1, start + len(reading)))


def _reading_start(cursor: int, text: str, width: int) -> int:
    """The column of the value beside the cursor, on the side with room."""
    return cursor + 1 if cursor + 1 + len(text) <= width else cursor - len(text)


def _with_cursor(line: TextLine, cursor: int | None, reading: str, width: int) -> TextLine:
    """Draw the cursor's line through a row, with a value beside it, if any."""
    if cursor is None:
        return line
    if reading:
        # The value is beside the cursor's line.
        start = _reading_start(cursor, reading, width)
        return overlay(overlay(line, cursor, drawing.CURSOR, width), start, reading, width)
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
        cells = last - first + 1
        marks.append((first, f"├{name:─^{cells - 2}}┤" if cells > 2 else name * cells))
    cursor = cursor_column(view, columns)
    if cursor is not None and view.chart_state.cursor is not None:
        # A column of several ticks has a start and an end.
        since, until = (_axis_time(view, each) for each in view.chart_state.cursor)
        label = f" {since}–{until} " if chosen.slots > 1 else f" {until} "
        marks.append((min(max(cursor - len(label) // 2, 0), columns - len(label)), label))
    text: TextLine = (
        TextSpan(_without_covered(_axis_text(view, columns, chosen.column_seconds), marks), "muted"),
    )
    for column, mark in marks:
        text = overlay(text, column, mark, columns)
    return [(*_axis_gutter(view, gutter), *text)][:height]


def _axis_time(view: View, elapsed_seconds: float) -> str:
    """A time of the run, or its time of day if selected and known."""
    if view.chart_state.clock and view.sample is not None:
        return local_time(view.sample.at - view.sample.elapsed_seconds + elapsed_seconds, "%H:%M:%S")
    return hms(elapsed_seconds)


def _without_covered(labels: str, marks: Sequence[tuple[int, str]]) -> str:
    """The axis labels without those that a mark partly covers: the rest of `−30s` could read `−3`."""

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


def axis_label(label: str) -> TextSpan:
    """A label in the cells left of the bars."""
    return TextSpan(f"{label:>{AXIS_WIDTH - 1}} ", "muted")


def _struck_columns(view: View, columns: int) -> frozenset[int]:
    """The columns with a marker line: those of changes, and the ends of experiments."""
    ends = (end for first, last, _ in change_bands(view, columns) for end in (first, last))
    return frozenset((*change_markers(view, columns), *ends))


def _maximum_rule(view: View, width: int, *, numbered: bool) -> TextLine:
    """The rule above the bars, with a band for each experiment, and numbers."""
    if not numbered:
        struck = _struck_columns(view, width)
        return (TextSpan(drawing.strike_markers(drawing.RULE * width, struck, drawing.CROSSING), "faint"),)
    rule: TextLine = (TextSpan(drawing.RULE * width, "faint"),)
    labels = {column: str(number) for column, number in change_markers(view, width).items()}
    for first, last, label in change_bands(view, width):
        length = last - first + 1
        rule = overlay(rule, first, drawing.BAND * (length - 1) + drawing.BAND_END, width, "muted")
        labels[first] = label if len(label) < length else label.partition(" ")[0]
    for start, text in drawing.marker_labels(labels, width).items():
        rule = overlay(rule, start, text, width, "badge")
    return rule


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


DENSITIES = (
    (0.25, "█", "25 % and more"),
    (0.08, "▓", "8 %"),
    (0.015, "▒", "1.5 %"),
    (0.002, "░", "0.2 %"),
    (0.0, "·", "any"),
)
"""The minimum share, the glyph and the label of each density."""


def _bound_label(bucket: int) -> str:
    """The upper bound of a bucket."""
    value = UPPER_US[bucket]
    for factor, unit in _UNITS:
        if value >= factor * _JUST_BELOW:
            return f"{float(f'{value / factor:.2g}'):g} {unit}"
    raise AssertionError


FEWEST_BANDS = 8


def heat_map(view: View, width: int, height: int) -> list[TextLine]:
    """One row per latency band, the slowest on top; every second one is labelled.

    Empty if there are only a few rows, which would show no more than the percentiles.
    """
    if height < FEWEST_BANDS:
        return []
    columns = max(width - AXIS_WIDTH, 1)
    points = chart_points(view, columns)
    bands = _latency_bands(points, height)
    cursor = cursor_column(view, columns)
    lines: list[TextLine] = []
    for number, band in enumerate(bands):
        row: TextLine = (TextSpan("".join(_density_glyph(point, band) for point in points), "shade5"),)
        if cursor is not None:
            row = overlay(row, cursor, drawing.CURSOR, columns)
        label = _bound_label(band[-1]) if number % 2 == 0 else ""
        lines.append((TextSpan(f"{label:>{AXIS_WIDTH - 1}} ", "muted"), *row))
    if not bands:
        lines.append(pad_line((TextSpan(" " * AXIS_WIDTH + "no latencies yet", "muted"),), width))
    return lines[:height]


def heat_map_legend(view: View, width: int, height: int) -> list[TextLine]:
    """Legend of the glyphs, as far as it fits."""
    if height < FEWEST_BANDS:
        return []
    lines: list[TextLine] = [(TextSpan("HEAT MAP", "title"),), (TextSpan("share of a column", "muted"),)]
    lines += [(TextSpan(glyph, "latency"), TextSpan(f"  {label}", "muted")) for _, glyph, label in DENSITIES]
    return [pad_line(line, width) for line in lines[:height]]


def _latency_bands(points: Sequence[ChartPoint | None], rows: int) -> list[range]:
    """The used buckets in bands, at most `rows` of them, the slowest first.

    Bands begin at multiples of their size, so that they keep their borders when a slower bucket is used.
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
    return [range(number * each, min((number + 1) * each, BUCKETS)) for number in numbers]


def _density_glyph(point: ChartPoint | None, band: range) -> str:
    if point is None or not point.counts:
        return " "
    count = sum(point.counts[band.start : band.stop])
    if not count:
        return " "
    share = count / sum(point.counts)
    return next(glyph for least, glyph, _ in DENSITIES if share >= least)


HALVES = 2
STACKED = "stack-"
"""Prefix of the roles in a stack, whose colours are dimmer than those of figures."""

StackPart = tuple[str, str, str]
"""A part of a stack: name, glyph for terminals without colours, role."""


def cpu_chart(
    view: View, width: int, height: int, *, ascii_only: bool = False, numbered: bool = False
) -> list[TextLine]:
    """Chart from 0 to 100 % of the host, by process group; a column without data is empty."""
    points = chart_points(view, max(width - AXIS_WIDTH, 1))
    shares = [point.cpu if point else None for point in points]
    return stacked_chart(
        _CPU_STACK, shares, "100 %", view, width, height, ascii_only=ascii_only, numbered=numbered
    )


def is_told_by_glyphs(*, ascii_only: bool) -> bool:
    """True if the parts of a stack are distinguished by glyphs, not by colours."""
    return ascii_only or "NO_COLOR" in os.environ


def stacked_chart(
    parts: Sequence[StackPart],
    shares: Sequence[Sequence[float] | None],
    top: str,
    view: View,
    width: int,
    height: int,
    *,
    ascii_only: bool = False,
    numbered: bool = False,
) -> list[TextLine]:
    """A chart with a stack of the parts in each column; `shares` are in percent of the height.

    `top` is the label of the upper end. With `numbered`, a rule above the chart has the markers' numbers.
    """
    is_plain = is_told_by_glyphs(ascii_only=ascii_only)
    columns, bars = max(width - AXIS_WIDTH, 1), height - numbered
    owners = [_owners(each, HALVES * bars) for each in shares]
    struck, cursor = _struck_columns(view, columns), cursor_column(view, columns)
    rows: list[TextLine] = [_maximum_rule(view, columns, numbered=True)] if numbered else []
    for row in range(bars - 1, -1, -1):
        cells = [_cell(parts, each[HALVES * row : HALVES * (row + 1)], is_plain=is_plain) for each in owners]
        for column in struck:
            if cells[column][0] == " ":
                cells[column] = (drawing.MARKER, "muted")
        rows.append(merge_cells(cells))
    if cursor is not None:
        rows = [overlay(row, cursor, drawing.CURSOR, columns, "strong") for row in rows]
    labels = [top, *[""] * (height - 2), "0"]
    return [(axis_label(label), *row) for label, row in zip(labels, rows, strict=False)]


def cpu_figure(view: View, width: int, height: int) -> list[TextLine]:
    """Total percentage, and the share of each process group."""
    host = view.host
    if host is None:
        return [pad_line((TextSpan("CPU ", "strong"), TextSpan(DASH, "muted")), width)]
    busy = read("cpu_total", host) or 0.0
    total = TextSpan(percent(busy), cpu_role(busy))
    lines = [justify((TextSpan("CPU", "strong"),), (total,), width - 2)]
    for (name, glyph, role), value in zip(CPU_BAR_PARTS, cpu_parts(host), strict=True):
        written = TextSpan(DASH if value is None else f"{value:.0f}", "")
        lines.append(justify((TextSpan(f"{glyph} ", role), TextSpan(name, "muted")), (written,), width - 4))
    return [pad_line(line, width) for line in lines[:height]]


_FREE = "."


def _owners(shares: Sequence[float] | None, halves: int) -> str:
    """The index of the part in each half row from the bottom, as a hexadecimal digit. Parts that round to
    zero are left out.
    """
    if shares is None:
        return _FREE * halves
    runs = drawing.share_runs([(share, f"{part:x}") for part, share in enumerate(shares)], halves, _FREE)
    return "".join(runs)


def _cell(parts: Sequence[StackPart], halves: str, *, is_plain: bool) -> tuple[str, str]:
    """Glyph and role of a cell with two halves.

    Two parts in a cell are its foreground and background colours; without colours, only the lower one is
    shown.
    """
    lower, upper = (None if half == _FREE else parts[int(half, 16)] for half in halves)
    if lower is None:
        return (" ", "")
    if is_plain:
        return lower[1:]
    if lower == upper:
        return "█", lower[2]
    return "▄", lower[2] if upper is None else f"{upper[2]}+{lower[2]}"


_CPU_STACK = tuple((name, glyph, STACKED + role) for name, glyph, role in CPU_BAR_PARTS)


ROLE = "server"


def figure_measure(key: str) -> Measure | None:
    """The measure of a figure's chart; None for an unknown key."""
    figure = figure_of(key)
    if figure is None:
        return None
    return Measure(
        key,
        ROLE,
        figure.title,
        figure.section,
        lambda point: figure_value(key, point.figures, point.lags),
        lambda value: (figure.write(value), ""),
        figure.axis,
        lambda _: (),
        may_rise=not figure.is_rate,
        is_bytes=figure.is_bytes,
    )


LAYOUTS = {
    "speaker": ("tps", "fsyncs", "p95"),
    "operations": ("qps", "threads_running", "p99"),
    "engineer": ("tps", "qps", "p95"),
}
"""Figures of the three charts of the first screen, by the name of a preset."""
SLOT_ROLES = tuple(measure.role for measure in MEASURES)
SLOT_FIGURES = {
    name: next(figure_key(section, row.name) for section, row in SOURCES if row.figure == name)
    for name in dict.fromkeys(row.figure for _, row in SOURCES)
}
"""Figures that a chart can show, by name, with their keys."""
_OWN_MEASURES = {measure.name: measure for measure in (*MEASURES, FSYNCS)}
_MOST_DIGITS = 5


def parse_slots(text: str) -> tuple[str, ...]:
    """The figures of a preset, or up to three figures by name. Raises UsageError for an unknown name."""
    if text.strip() in LAYOUTS:
        return LAYOUTS[text.strip()]
    names = text.replace(",", " ").split()
    for name in names:
        if name not in SLOT_FIGURES:
            near = did_you_mean(name, [*SLOT_FIGURES, *LAYOUTS])
            raise UsageError(f"there is no figure '{name}'{f' ({near})' if near else ''}")
    if not 1 <= len(names) <= len(SLOT_ROLES) or len(set(names)) < len(names):
        raise UsageError(f"type one to {len(SLOT_ROLES)} different figures, or {', '.join(LAYOUTS)}")
    return tuple(names)


def slot_measure(place: int, view: View) -> Measure:
    """The measure of a chart of the first screen, in the colour of its place."""
    names = view.chart_state.slots
    usual = measures_of(view.headline, is_watch=view.shows_traffic)[place]
    if place >= len(names) or names[place] == usual.name:
        is_repeated = place > 0 and usual.name == "qps" and not view.shows_traffic and not view.status.weights
        return usual._replace(unit=f"{ANOTHER_KEY} changes it") if is_repeated else usual
    name, role = names[place], SLOT_ROLES[place]
    own = _OWN_MEASURES.get(name)
    measure = own if own is not None else figure_measure(SLOT_FIGURES[name])
    if measure is None:
        return usual
    if own is None:
        big = partial(_big_value, FIGURES[name].unit, measure)
        title = FIGURES[name].title if measure.unit == OTHERS_SECTION.lower() else measure.title
        measure = measure._replace(name=name, big=big, title=title, unit="")
    return measure._replace(role=role)


ANOTHER_KEY = "f"


def _big_value(unit: str, measure: Measure, value: float | None) -> tuple[str, str]:
    """Digits of at most four places, and a unit."""
    if unit == FigureUnit.MILLISECONDS:
        return big_latency(value)
    digits, _, rest = measure.big(value)[0].partition(" ")
    if unit == FigureUnit.PER_SECOND or (unit == FigureUnit.NUMBER and len(digits) > _MOST_DIGITS):
        return big_rate(value)
    return digits, rest


def figure_chart(
    keys: Sequence[str],
    place: int,
    view: View,
    width: int,
    height: int,
    *,
    numbered: bool = False,
    ascii_only: bool = False,
) -> list[TextLine]:
    """The chart at a place; empty if there is none."""
    measure = figure_measure(keys[place]) if place < len(keys) else None
    if measure is None:
        return []
    return time_chart(measure, view, width, height, numbered=numbered, ascii_only=ascii_only)


def figure_title(keys: Sequence[str], place: int, view: View, width: int, height: int) -> list[TextLine]:
    """Label left of the chart: name, current value, and heading in the list."""
    figure = figure_of(keys[place]) if place < len(keys) else None
    if figure is None:
        return []
    value = figure_value(figure.key, view.points[-1].figures, view.points[-1].lags) if view.points else None
    number = TextSpan(figure.write(value), ROLE if value is not None else "muted")
    if height == 1:
        title = shorten(figure.title, max(width - 3 - len(number.text), 1))
        return [pad_line(justify((TextSpan(title, "strong"),), (number,), width - 2), width)]
    lines: list[TextLine] = [
        (TextSpan(shorten(figure.title, width - 2), "strong"),),
        (number,),
        (TextSpan(shorten(figure.section, width - 2), "muted"),),
    ]
    return [pad_line(line, width) for line in lines][:height]


STEP_DOT, BACK_RING, CURRENT_MARK, CURVE_DOT, KNEE_LINE, OBJECTIVE_LINE = "●", "○", "+", "⠒", "│", "─"
AXIS_HEADROOM = 1.15
"""Factor by which the axis exceeds the highest level."""

LEVEL_UNITS = {Quantity.THREADS: "threads", Quantity.RATE: "rate/s"}
"""Labels of the level axis."""
LEVEL_AXIS_WIDTH = 1 + max(map(len, LEVEL_UNITS.values()))
"""Cells left of the charts, for the axis labels."""

GAP = TextSpan(" · ", "faint")


class ProbeFigure(NamedTuple):
    """One of the two charts of a probe."""

    title: str
    role: str
    of: Callable[[ProbeStep], float | None]
    """The value of a completed step."""
    now: Callable[[ProbeState], float | None]
    """The value of the current step."""
    axis: Callable[[float], str]
    """Converts a value to a label of the axis."""
    bound: str = ""
    """The name of the figure in objectives."""
    is_throughput: bool = False


THROUGHPUT = ProbeFigure(
    "TPS", "tps", lambda step: step.tps, lambda state: state.tps, si, "tps", is_throughput=True
)
LATENCY = ProbeFigure(
    "p95", "latency", lambda step: step.p95_ms, lambda state: state.p95_ms, milliseconds, "p95"
)


class CellGrid:
    """Cells of a chart; later content covers earlier content."""

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height
        self._rows = [[(" ", "")] * width for _ in range(height)]

    def put(self, column: int, row: int, glyph: str, role: str) -> None:
        """Set a cell; `row` 0 is the lowest. Positions outside are ignored."""
        if 0 <= column < self._width and 0 <= row < self._height:
            self._rows[self._height - 1 - row][column] = (glyph, role)

    def put_dots(self, dots: DotGrid, role: str) -> None:
        """Draw a braille drawing."""
        for (column, row), glyph in dots.cells().items():
            self.put(column, row, glyph, role)

    def lines(self) -> list[TextLine]:
        return [merge_cells(row) for row in self._rows]


class LevelScale(NamedTuple):
    """Conversion of levels and values to cells and dots."""

    lowest: float
    highest: float
    top: float
    width: int
    height: int

    def column(self, level: float) -> int:
        return round(self._across(level) * (self.width - 1))

    def row(self, value: float) -> int:
        return round(value / self.top * (self.height - 1))

    def dot(self, level: float, value: float) -> tuple[int, int]:
        """The dot at the centre of the cell of a level and a value, see `column` and `row`."""
        across, up = self._across(level) * (self.width - 1), value / self.top * (self.height - 1)
        return round((across + 0.5) * DOTS_ACROSS - 0.5), round((up + 0.5) * DOTS_HIGH - 0.5)

    def _across(self, level: float) -> float:
        span = math.log(self.highest / self.lowest)
        return math.log(max(level, 1e-9) / self.lowest) / span if span else 0.0


def probe_chart(figure: ProbeFigure, view: View, width: int, height: int) -> list[TextLine]:
    """One of the two charts, with its axis on the left."""
    state, columns = view.probe, max(width - LEVEL_AXIS_WIDTH, 1)
    if state is None or height < 2:
        return [()] * height
    scale = _chart_scale(figure, state, columns, height - 1)
    cells = CellGrid(columns, height - 1)
    _draw_lines(figure, state, scale, cells)
    _draw_steps(figure, state, scale, cells)
    head: TextLine = (
        TextSpan(f"{figure.axis(scale.top):>{LEVEL_AXIS_WIDTH - 1}} ", "muted"),
        *_chart_caption(figure, state),
    )
    body = [(TextSpan(" " * LEVEL_AXIS_WIDTH), *line) for line in cells.lines()]
    body[-1] = (TextSpan(f"{'0':>{LEVEL_AXIS_WIDTH - 1}} ", "muted"), *body[-1][1:])
    return [pad_line(line, width) for line in (head, *body)]


BEFORE_DOT, AFTER_DOT = "○", "●"


def recovery_chart(view: View, width: int, height: int) -> list[TextLine]:
    """Goodput against the rate, before a burst and after it, on the axis of the other charts."""
    state, columns = view.probe, max(width - LEVEL_AXIS_WIDTH, 1)
    found = None if state is None else state.vulnerable
    if state is None or found is None or height < 2:
        return [()] * height
    ways = found.hysteresis
    top = axis_maximum(max((value for way in ways.values() for _, value in way), default=0.0))
    scale = _chart_scale(THROUGHPUT, state, columns, height - 1)._replace(top=top)
    cells = CellGrid(columns, height - 1)
    edge = found.edges[0]
    if edge.low is not None and edge.high is not None:
        middle = scale.column(math.sqrt(edge.low * edge.high))
        for row in range(scale.height):
            cells.put(middle, row, KNEE_LINE, "warn")
    styles = (("muted", BEFORE_DOT), ("tps", AFTER_DOT))
    for (role, glyph), way in zip(styles, ways.values(), strict=True):
        dots = DotGrid(scale.width, scale.height)
        for one, other in pairwise(way):
            dots.line(scale.dot(*one), scale.dot(*other))
        cells.put_dots(dots, role)
        for rate, value in way:
            cells.put(scale.column(rate), scale.row(value), glyph, role)
    caption = [(TextSpan("goodput", "tps"),)]
    caption += [
        (TextSpan(f"{glyph} {name}", role),) for (role, glyph), name in zip(styles, ways, strict=True)
    ]
    if edge.low is not None and edge.high is not None:
        text = f"{KNEE_LINE} edge {count(edge.low)} to {count(edge.high)}/s"
        caption.append((TextSpan(text, "warn"),))
    head: TextLine = (
        TextSpan(f"{si(scale.top):>{LEVEL_AXIS_WIDTH - 1}} ", "muted"),
        *join_parts(caption, GAP),
    )
    body = [(TextSpan(" " * LEVEL_AXIS_WIDTH), *line) for line in cells.lines()]
    body[-1] = (TextSpan(f"{'0':>{LEVEL_AXIS_WIDTH - 1}} ", "muted"), *body[-1][1:])
    return [pad_line(fit_line(line, width), width) for line in (head, *body)]


def level_axis(view: View, width: int, height: int) -> list[TextLine]:
    """Level axis below both charts: the measured levels that fit."""
    state, columns = view.probe, max(width - LEVEL_AXIS_WIDTH, 1)
    if state is None:
        return [()]
    scale = _chart_scale(THROUGHPUT, state, columns, 1)
    text, end = "", 0
    levels = {step.level for step in state.steps} | {state.level}
    if state.vulnerable is not None:
        levels |= {each.rate for each in state.vulnerable.trials}
    for level in sorted(filter(None, levels)):
        label, column = count(level), scale.column(level)
        start = min(max(column - len(label) // 2, 0), columns - len(label))
        if start >= end:
            text = f"{text:<{start}}{label}"
            end = start + len(label) + 1
    unit = TextSpan(f"{LEVEL_UNITS[state.order.by]:>{LEVEL_AXIS_WIDTH - 1}} ", "muted")
    return [pad_line((unit, TextSpan(text, "muted")), width)][:height]


def is_inconclusive(state: ProbeState) -> bool:
    """True if the probe is over and its knee is not reliable."""
    return state.result is not None and state.result.is_inconclusive


def _chart_scale(figure: ProbeFigure, state: ProbeState, columns: int, rows: int) -> LevelScale:
    levels = [step.level for step in state.steps if step.level] + ([state.level] if state.level else [])
    if state.vulnerable is not None:
        levels += [each.rate for each in state.vulnerable.trials]
    values = [value for step in state.steps if (value := figure.of(step)) is not None]
    limits = [each.limit for each in _objectives(figure, state)]
    if figure.is_throughput:
        values += [_interval(step)[1] for step in state.steps]
    values += [value for value in (figure.now(state), *limits) if value is not None]
    lowest = min(levels, default=1.0)
    highest = max(*levels, 2 * lowest) if levels else 2.0
    return LevelScale(lowest, highest * AXIS_HEADROOM, axis_maximum(max(values, default=0.0)), columns, rows)


def _interval(step: ProbeStep) -> tuple[float, float]:
    half = step.tps * min(step.half_width or 0.0, 1.0)
    return step.tps - half, step.tps + half


def _draw_lines(figure: ProbeFigure, state: ProbeState, scale: LevelScale, cells: CellGrid) -> None:
    """Draw objective, knee, and the fine line through the steps."""
    for each in _objectives(figure, state):
        for column in range(scale.width):
            cells.put(column, scale.row(each.limit), OBJECTIVE_LINE, "warn")
    knee = _knee_level(state)
    if knee is not None:
        for row in range(scale.height):
            cells.put(scale.column(knee), row, KNEE_LINE, "muted" if is_inconclusive(state) else "ok")
    dots = DotGrid(scale.width, scale.height)
    for (level, value), (following, after) in pairwise(_curve(figure, state)):
        dots.line(scale.dot(level, value), scale.dot(following, after))
    cells.put_dots(
        dots,
        "server" if figure.is_throughput and state.fit is not None and bool(state.fit.curve) else "muted",
    )


def _draw_steps(figure: ProbeFigure, state: ProbeState, scale: LevelScale, cells: CellGrid) -> None:
    """Draw the measured steps with their bars, and the current one."""
    if figure.is_throughput:
        for step in state.steps:
            if step.level and step.half_width is not None:
                # The interval of a step is drawn unless it is shorter than the dot.
                dots = DotGrid(scale.width, scale.height)
                column = scale.column(step.level) * DOTS_ACROSS
                low, high = (scale.dot(step.level, value)[1] for value in _interval(step))
                dots.line((column, low), (column, high))
                cells.put_dots(dots, "muted" if step.purpose is StepPurpose.CONFIRM else figure.role)
    for step in state.steps:
        measured = figure.of(step)
        if measured is not None and step.level:
            is_again = step.purpose is StepPurpose.CONFIRM
            role = "muted" if is_again else figure.role
            cells.put(
                scale.column(step.level), scale.row(measured), BACK_RING if is_again else STEP_DOT, role
            )
    now = figure.now(state)
    if now is not None and state.level and state.result is None:
        cells.put(scale.column(state.level), scale.row(now), CURRENT_MARK, "strong")


def _curve(figure: ProbeFigure, state: ProbeState) -> list[tuple[float, float]]:
    """The points of the fitted curve if there is one, otherwise the steps of increasing level."""
    if figure.is_throughput and state.fit is not None and state.fit.curve:
        return list(state.fit.curve)
    steps = [step for step in state.steps if step.level and step.purpose is not StepPurpose.CONFIRM]
    return sorted((step.level, value) for step in steps if (value := figure.of(step)) is not None)


def _knee_level(state: ProbeState) -> float | None:
    """Level at which the knee is drawn; None if the client was the limit."""
    if state.result is not None:
        return state.result.knee.level if state.result.knee else None
    return state.knee


def _objectives(figure: ProbeFigure, state: ProbeState) -> list[Threshold]:
    """The objectives for this figure."""
    return [each for each in parse_objectives(state.order.slo) if each.figure == figure.bound]


def _chart_caption(figure: ProbeFigure, state: ProbeState) -> TextLine:
    """Name of the chart, and legend of its lines."""
    knee = _knee_level(state)
    parts: list[TextLine] = [(TextSpan(figure.title, figure.role),)]
    if figure.is_throughput:
        unsure = is_inconclusive(state)
        text = f"{KNEE_LINE} knee {count(knee)}{'?' if unsure else ''}"
        parts.append((TextSpan(text, "muted" if unsure else "ok"),) if knee is not None else ())
        if state.fit is not None and not state.fit.refusal:
            peak = f", peak at {count(state.fit.peak_level)}" if state.fit.peak_level else ""
            law = f"{CURVE_DOT} USL σ {state.fit.sigma:.4f} κ {state.fit.kappa:.2g}{peak}"
            parts.append((TextSpan(law, "server"),))
        if any(step.purpose is StepPurpose.CONFIRM for step in state.steps):
            parts.append((TextSpan(f"{BACK_RING} again", "muted"),))
        if state.tps is not None and state.result is None:
            parts.append((TextSpan(f"{CURRENT_MARK} now", "strong"),))
    parts += [(TextSpan(f"{OBJECTIVE_LINE} {each.text}", "warn"),) for each in _objectives(figure, state)]
    return join_parts(parts, GAP)
