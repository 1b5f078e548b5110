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


def stacked(sections: Sequence[Section], width: int, height: int, *, ascii_only: bool = False) -> list[Line]:
    """The sections below each other, with a free line between them where there is room for it."""
    if height < sum(len(section.rows) + 1 for section in sections):
        sections = [_without_rare(section) for section in sections]
    free = height >= sum(len(section.rows) + 2 for section in sections) - 1
    lines: list[Line] = []
    for section in sections:
        if lines and free:
            lines.append(pad((), width))
        lines.append(_heading(section, width))
        lines += [_row(row, width, ascii_only=ascii_only) for row in section.rows]
    return lines[:height]


def _without_rare(section: Section) -> Section:
    return section._replace(rows=[row for row in section.rows if not row.rare])


def _heading(section: Section, width: int) -> Line:
    columns = f"{'now':>{_NOW}}{section.beside:>{_BESIDE}}"
    return spread((Span(section.title, "title"),), (Span(columns, "faint"),), width)


def _row(row: Row, width: int, *, ascii_only: bool) -> Line:
    room = width - _NOW - _BESIDE
    trend = min(room - _NAME - 2, _LONGEST_TREND)
    name: Line = (Span(shorten(row.name, room), "warn" if row.alarm else "muted"),)
    if trend >= _LEAST_TREND:
        name = (*pad(name, room - trend), Span(_trend(row.values, trend, ascii_only=ascii_only), "muted"))
    if row.now == DASH:
        return spread(name, (Span(f"{shorten(row.beside, _NOW + _BESIDE - 3)} {DASH}", "muted"),), width)
    now = Span(f"{row.now:>{_NOW}}", "warn" if row.alarm else "strong")
    return (*pad(name, room), now, Span(f"{shorten(row.beside, _BESIDE - 1):>{_BESIDE}}", "muted"))


def _trend(values: Sequence[float | None], width: int, *, ascii_only: bool) -> str:
    """The newest values from a zero baseline; never quite a full cell, so that rows stay apart."""
    shown = [*(None,) * width, *values][-width:]
    top = max((value for value in shown if value is not None), default=0.0)
    return drawing.bars(shown, axis_maximum(top) * _HEADROOM, 1, ascii_only=ascii_only)[0]
