"""Row of a figure: name, sparkline, current value, note.

A missing value has its reason beside the dash; a missing tick is a gap in the sparkline.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from tuibench.tui.charts.figures.table import figure_number
from tuibench.tui.charts.scale import NEAR_ZERO, baseline
from tuibench.tui.panels.selection import first_visible
from tuibench.tui.text import drawing
from tuibench.tui.text.spans import TextLine, TextSpan, justify, pad_line, shorten
from tuibench.units import DASH, axis_maximum

_NOW, _BESIDE = 10, 12
_LEAST_TREND = 6
_NAME = 17
_LONGEST_TREND = 60
_HEADROOM = 8 / 7
_HIGH = 2
"""Height of a sparkline in lines if there is ample room."""


class TrendRow(NamedTuple):
    """A row: `values` are those of the last samples, the newest last; `beside` is a total, a limit, or a
    reason.

    A `rare` row is left out if space is short. `key` is that of its figure, for its own chart.
    """

    name: str
    now: str
    beside: str = ""
    values: Sequence[float | None] = ()
    alarm: bool = False
    rare: bool = False
    key: str = ""


class TrendSection(NamedTuple):
    """Rows under a heading; `beside` names their last column."""

    title: str
    rows: Sequence[TrendRow]
    beside: str = ""


class ListMarks(NamedTuple):
    """Marks in a list: the selected row, and the rows whose figures are on the charts, by key."""

    chosen: str = ""
    charted: Collection[str] = ()


NO_MARKS = ListMarks()


def stack_sections(
    sections: Sequence[TrendSection],
    width: int,
    height: int,
    *,
    beside: Sequence[TrendSection] = (),
    ascii_only: bool = False,
    marks: ListMarks = NO_MARKS,
) -> list[TextLine]:
    """The sections stacked; if there is room, with space between them and sparklines of two lines.

    A column `beside` them is taken into account for the height of the sparklines. If space is short, the
    lines around the selected row are shown.
    """
    sections = listed_sections(sections, height)
    free = height >= sections_height(sections, free=1)
    room = height >= max(sections_height(each, _HIGH, free=_HIGH) for each in (sections, beside))
    high = _HIGH if room and _trend_width(width) >= _LEAST_TREND else 1
    lines: list[TextLine] = []
    place = 0
    for section in sections:
        if lines and free:
            lines += [pad_line((), width)] * high
        lines.append(_section_heading(section, width))
        for row in section.rows:
            lines += _clickable(row, _trend_lines(row, width, high, marks, ascii_only=ascii_only), width)
            place = len(lines) - 1 if row.key and row.key == marks.chosen else place
    first = first_visible(place, len(lines), height)
    return lines[first : first + height]


def listed_sections(sections: Sequence[TrendSection], height: int) -> Sequence[TrendSection]:
    """The sections as listed in this height: without rare rows if space is short."""
    if height < sections_height(sections):
        return [_without_rare(section) for section in sections]
    return sections


def listed_keys(sections: Sequence[TrendSection], height: int) -> list[str]:
    """Keys of the listed rows, from the top down."""
    return [row.key for section in listed_sections(sections, height) for row in section.rows if row.key]


def _trend_width(width: int) -> int:
    return min(width - _NOW - _BESIDE - _NAME - 2, _LONGEST_TREND)


def sections_height(sections: Sequence[TrendSection], high: int = 1, free: int = 0) -> int:
    """Height of the sections, with `high` lines per row and `free` lines between two sections."""
    return sum(len(section.rows) * high + 1 + free for section in sections) - free


def _without_rare(section: TrendSection) -> TrendSection:
    return section._replace(rows=[row for row in section.rows if not row.rare])


def _section_heading(section: TrendSection, width: int) -> TextLine:
    columns = f"{'now':>{_NOW}}{section.beside:>{_BESIDE}}"
    return justify((TextSpan(section.title, "title"),), (TextSpan(columns, "muted"),), width)


def _trend_lines(
    row: TrendRow, width: int, high: int, marks: ListMarks, *, ascii_only: bool
) -> list[TextLine]:
    """Lines of a row: the figure is on the lowest line; a higher sparkline extends above it."""
    room = width - _NOW - _BESIDE
    trend = _trend_width(width)
    *above, lowest = _sparkline(row.values, trend, high, ascii_only=ascii_only)
    before = room - trend - 1
    has_trend = trend >= _LEAST_TREND
    name = _name_cells(row, before if has_trend else room, marks)
    if has_trend:
        name = (*pad_line(name, before), TextSpan(lowest, "muted"))
    return [
        *(pad_line((TextSpan(" " * before), TextSpan(line, "muted")), width) for line in above),
        _value_line(row, name, width),
    ]


def _clickable(row: TrendRow, lines: list[TextLine], width: int) -> list[TextLine]:
    """The lines of a row that can be selected, over the whole width."""
    if not row.key:
        return lines
    action = f"screen.pick({figure_number(row.key)})"
    return [tuple(span._replace(action=action) for span in pad_line(line, width)) for line in lines]


def _name_cells(row: TrendRow, room: int, marks: ListMarks) -> TextLine:
    """Name, marked if the row is selected, followed by a dot if its figure is on the charts."""
    role = "selected" if row.key and row.key == marks.chosen else "warn" if row.alarm else "muted"
    if not row.key or row.key not in marks.charted:
        return (TextSpan(shorten(row.name, room), role),)
    return (TextSpan(shorten(row.name, room - 2), role), TextSpan(" ●", "server"))


def _value_line(row: TrendRow, name: TextLine, width: int) -> TextLine:
    if row.now == DASH:
        reason = shorten(f"{DASH} {row.beside}".rstrip(), _NOW + _BESIDE - 1)
        return justify(name, (TextSpan(reason, "muted"),), width)
    now = TextSpan(f"{row.now:>{_NOW}}", "warn" if row.alarm else "strong")
    beside = TextSpan(f"{shorten(row.beside, _BESIDE - 1):>{_BESIDE}}", "muted")
    return (*pad_line(name, width - _NOW - _BESIDE), now, beside)


def _sparkline(values: Sequence[float | None], width: int, high: int, *, ascii_only: bool) -> list[str]:
    """Sparkline of the newest values, from zero or, if all are far from zero, from below the minimum.
    Constant values are drawn at half a row.

    A bar never fills its top cell, so that rows remain separate.
    """
    shown = [*(None,) * width, *values][-width:] if width > 0 else []
    known = [value for value in shown if value is not None]
    least, most = min(known, default=0.0), max(known, default=0.0)
    base = baseline(least, most)
    if base:
        shown = [None if value is None else value - base for value in shown]
        return drawing.draw_bars(shown, (most - base) * _HEADROOM, high, ascii_only=ascii_only)
    top = 2 * most if 0 < NEAR_ZERO * most <= least else axis_maximum(most) * _HEADROOM
    return drawing.draw_bars(shown, top, high, ascii_only=ascii_only)
