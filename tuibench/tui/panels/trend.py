"""A figure in a row: name, a tiny trend of the last samples, its value now, and what stands beside it.

A value that is missing says why beside its dash; a tick that is missing is a gap in the trend.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tuibench.tui import drawing
from tuibench.tui.spans import Line, Span, pad, shorten, spread
from tuibench.units import DASH, axis_maximum

_NOW, _BESIDE = 10, 12
_LEAST_TREND = 6
_NAME = 16
_LONGEST_TREND = 60
_HEADROOM = 8 / 7
_HIGH = 2
"""Lines of a figure where there is more than enough room."""


class Row(NamedTuple):
    """`values` are those of the last samples, the newest last; `beside` is a total, a limit, or the reason.

    A `rare` row is left out where there is no room.
    """

    name: str
    now: str
    beside: str = ""
    values: Sequence[float | None] = ()
    alarm: bool = False
    rare: bool = False


class Section(NamedTuple):
    """Rows under a heading; `beside` names their last column."""

    title: str
    rows: Sequence[Row]
    beside: str = ""


def stacked(
    sections: Sequence[Section],
    width: int,
    height: int,
    *,
    beside: Sequence[Section] = (),
    ascii_only: bool = False,
) -> list[Line]:
    """The sections below each other; where there is room a line between them, and trends of two lines.

    A column `beside` them has trends of as many lines.
    """
    if height < _height(sections):
        sections = [_without_rare(section) for section in sections]
    free = height >= _height(sections, free=1)
    room = height >= max(_height(each, _HIGH, free=1) for each in (sections, beside))
    high = _HIGH if room and _trend_width(width) >= _LEAST_TREND else 1
    lines: list[Line] = []
    for section in sections:
        if lines and free:
            lines.append(pad((), width))
        lines.append(_heading(section, width))
        for row in section.rows:
            lines += _row(row, width, high, ascii_only=ascii_only)
    return lines[:height]


def _trend_width(width: int) -> int:
    return min(width - _NOW - _BESIDE - _NAME - 2, _LONGEST_TREND)


def _height(sections: Sequence[Section], high: int = 1, free: int = 0) -> int:
    return sum(len(section.rows) * high + 1 + free for section in sections) - free


def _without_rare(section: Section) -> Section:
    return section._replace(rows=[row for row in section.rows if not row.rare])


def _heading(section: Section, width: int) -> Line:
    columns = f"{'now':>{_NOW}}{section.beside:>{_BESIDE}}"
    return spread((Span(section.title, "title"),), (Span(columns, "faint"),), width)


def _row(row: Row, width: int, high: int, *, ascii_only: bool) -> list[Line]:
    """The figure in its lowest line; a trend that is higher reaches above it."""
    room = width - _NOW - _BESIDE
    trend = _trend_width(width)
    *above, lowest = _trend(row.values, trend, high, ascii_only=ascii_only)
    before = room - trend - 1
    name: Line = (Span(shorten(row.name, room), "warn" if row.alarm else "muted"),)
    if trend >= _LEAST_TREND:
        name = (*pad(name, before), Span(lowest, "muted"))
    return [
        *(pad((Span(" " * before), Span(line, "muted")), width) for line in above),
        _figure(row, name, width),
    ]


def _figure(row: Row, name: Line, width: int) -> Line:
    if row.now == DASH:
        return spread(name, (Span(f"{shorten(row.beside, _NOW + _BESIDE - 3)} {DASH}", "muted"),), width)
    now = Span(f"{row.now:>{_NOW}}", "warn" if row.alarm else "strong")
    beside = Span(f"{shorten(row.beside, _BESIDE - 1):>{_BESIDE}}", "muted")
    return (*pad(name, width - _NOW - _BESIDE), now, beside)


def _trend(values: Sequence[float | None], width: int, high: int, *, ascii_only: bool) -> list[str]:
    """The newest values from a zero baseline; never quite a full cell, so that rows stay apart."""
    shown = [*(None,) * width, *values][-width:] if width > 0 else []
    top = max((value for value in shown if value is not None), default=0.0)
    return drawing.bars(shown, axis_maximum(top) * _HEADROOM, high, ascii_only=ascii_only)
