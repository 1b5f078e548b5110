"""One chart: the rule that marks the axis maximum, the bars, the change markers, and the cursor's reading."""

from collections.abc import Mapping

from tuibench.tui import drawing
from tuibench.tui.actions import BY_NAME, key_of
from tuibench.tui.columns import grid_of, markers, window
from tuibench.tui.panels.measures import Measure
from tuibench.tui.spans import Line, Span, pad
from tuibench.tui.view import View
from tuibench.units import DASH, axis_maximum, clock

AXIS_WIDTH = 7
"""Cells left of the bars, for the axis labels."""

GUTTER = 18 + AXIS_WIDTH
"""Cells left of the bars where a big number stands beside them."""

SHADES = 8
"""A bar row's role is shade0 (the baseline) to shade7 (the top): one style a row keeps slow lines quick."""


def plot(
    measure: Measure, view: View, width: int, height: int, *, numbered: bool, ascii_only: bool = False
) -> list[Line]:
    """The chart in `width` × `height` cells; `numbered` puts the markers' numbers on its rule."""
    columns = max(width - AXIS_WIDTH, 1)
    values = [measure.value(point) if point else None for point in window(view, columns)]
    present = [value for value in values if value is not None]
    top = axis_maximum(max(present, default=0.0))
    changes = markers(view, columns)
    cursor = cursor_column(view, columns)
    rows = drawing.bars(values, top, height - 1, ascii_only=ascii_only)
    label = measure.axis(top) if present else ""
    rule = _rule(columns, changes, numbered=numbered)
    if cursor is not None:
        rule = _with_reading(rule, cursor, _reading(measure, values[cursor]), columns)
    body = [_row(drawing.strike(row, changes), number, height - 1, cursor) for number, row in enumerate(rows)]
    return [(_axis_label(label), *rule), *body]


def time_axis(view: View, width: int, height: int, *, gutter: int = GUTTER) -> list[Line]:
    """The time axis below the last chart, with the cursor's time and the spans; the zoom left of it."""
    columns = max(width - gutter, 1)
    chosen = grid_of(view, columns)
    text: Line = (Span(drawing.time_axis(columns, chosen.column_seconds), "muted"),)
    for name, (start, end) in zip("AB", view.lens.spans, strict=False):
        first, last = chosen.column_at(start + chosen.interval_seconds), chosen.column_at(end)
        text = overlaid(text, first, _bracket(name, last - first + 1), columns)
    cursor = cursor_column(view, columns)
    if cursor is not None and view.lens.cursor is not None:
        label = _time(view.lens.cursor, merged=chosen.slots > 1)
        text = overlaid(text, min(max(cursor - len(label) // 2, 0), columns - len(label)), label, columns)
    return [(*_gutter(view, gutter), *text)][:height]


def cursor_column(view: View, columns: int) -> int | None:
    """The column that the cursor points at, None if it is not shown."""
    if view.lens.cursor is None:
        return None
    column = grid_of(view, columns).column_at(view.lens.cursor[1])
    return column if 0 <= column < columns else None


def _gutter(view: View, width: int) -> Line:
    """How much time is shown, and the keys for it."""
    left, right, zoom = (
        Span(key_of(BY_NAME[name], view), "key") for name in ("cursor_left", "cursor_right", "zoom_out")
    )
    shown = Span(f" {view.lens.zoomed.label}  ", "strong") if view.lens.zoom else Span(" zoom  ", "muted")
    return pad((zoom, shown, left, Span(" "), right, Span(" cursor", "muted")), width)


def _time(cursor: tuple[float, float], *, merged: bool) -> str:
    """When that was; from when to when, of a column of several ticks."""
    start, end = (clock(each) for each in cursor)
    return f" {start}–{end} " if merged else f" {end} "


def _bracket(name: str, width: int) -> str:
    return f"├{name:─^{width - 2}}┤" if width > 2 else name * width


def _reading(measure: Measure, value: float | None) -> str:
    return f" {' '.join(measure.big(value)).rstrip() if value is not None else f'{DASH} not measured'} "


def _axis_label(label: str) -> Span:
    return Span(f"{label:>{AXIS_WIDTH - 1}} ", "muted")


def _row(row: str, number: int, height: int, cursor: int | None) -> Line:
    is_baseline = number == height - 1
    shade = round((height - 1 - number) / (height - 1) * (SHADES - 1)) if height > 1 else SHADES // 2
    label, role = _axis_label("0" if is_baseline else ""), f"shade{shade}"
    if cursor is None:
        return (label, Span(row, role))
    return (label, Span(row[:cursor], role), Span(drawing.CURSOR, "strong"), Span(row[cursor + 1 :], role))


def _rule(width: int, changes: Mapping[int, int], *, numbered: bool) -> Line:
    if not numbered:
        return (Span(drawing.strike(drawing.RULE * width, changes, drawing.CROSSING), "faint"),)
    spans: list[Span] = []
    end = 0
    for start, text in sorted(drawing.flags(changes, width).items()):
        spans += [Span(drawing.RULE * (start - end), "faint"), Span(text, "badge")]
        end = start + len(text)
    return (*spans, Span(drawing.RULE * (width - end), "faint"))


def _with_reading(rule: Line, cursor: int, text: str, width: int) -> Line:
    """The value beside the cursor's line, on the side where there is room."""
    start = cursor + 1 if cursor + 1 + len(text) <= width else cursor - len(text)
    return overlaid(overlaid(rule, cursor, drawing.CURSOR, width), start, text, width)


def overlaid(line: Line, start: int, text: str, width: int) -> Line:
    """The line with a text over its cells from `start` on, as far as it is inside."""
    text = text[max(0, -start) :][: max(0, width - max(start, 0))]
    start = max(start, 0)
    if not text:
        return line
    return (*_cut(line, 0, start), Span(text, "reading"), *_cut(line, start + len(text), width))


def _cut(line: Line, start: int, end: int) -> Line:
    """The cells from `start` to before `end`."""
    kept: list[Span] = []
    place = 0
    for span in line:
        text = span.text[max(start - place, 0) : max(end - place, 0)]
        kept += [span._replace(text=text)] if text else []
        place += len(span.text)
    return tuple(kept)
