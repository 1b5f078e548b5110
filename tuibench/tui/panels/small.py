"""The panel for a terminal that is too small for tabs, charts and dialogs.

State, figures, last event and keys have a line each. If space is short, the least important lines are left
out.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tuibench.base.units import percent
from tuibench.metrics.figures import read
from tuibench.tui.actions import ACTIONS_BY_NAME, action_key
from tuibench.tui.panels.bars import header, message_line, verdict_line, verdicts
from tuibench.tui.panels.lists import events_panel, sparkline
from tuibench.tui.panels.load import measures_of
from tuibench.tui.panels.numbers import durability_in_a_line
from tuibench.tui.text import TextLine, TextSpan, fit_line, justify, pad_line, plain_text, text_lines
from tuibench.tui.view import View

MOST_LINES = 20
"""Maximum number of other lines: further lines show events."""


class _Row(NamedTuple):
    """Lines that are left out together."""

    rank: int
    """If space is short, rows with the highest rank are left out first."""
    lines: list[TextLine]


def small_panel(
    view: View,
    width: int,
    height: int,
    *,
    needed: tuple[int, int],
    is_asking: bool = False,
    ascii_only: bool = False,
) -> list[TextLine]:
    """The lines that fit; a sparkline of the first figure fills free ones.

    `needed` is the terminal size that other screens need. `is_asking` is True if a hidden dialog is open.
    """
    rows = list(_rows(view, width, height, needed, is_asking))
    for rank in sorted({row.rank for row in rows}, reverse=True):
        if sum(len(row.lines) for row in rows) <= height:
            break
        rows = [row for row in rows if row.rank != rank]
    lines = [line for row in rows for line in row.lines]
    if (free := height - len(lines)) > 0:
        first = measures_of(view.headline, is_watch=view.shows_traffic)[0]
        values = [first.value(point) for point in view.points]
        drawn = sparkline(values, width, free, ascii_only=ascii_only)
        lines[-1:-1] = [(TextSpan(line, first.role),) for line in drawn]
    return [pad_line(fit_line(line, width), width) for line in lines][:height]


def _rows(view: View, width: int, height: int, needed: tuple[int, int], is_asking: bool) -> Iterator[_Row]:
    server, run = header(view, width, 2)
    yield _Row(4, [server])
    yield _Row(6, [run])
    if verdicts(view):
        yield _Row(3, verdict_line(view, width, 1))
    newest = view.points[-1] if view.points else None
    for number, measure in enumerate(measures_of(view.headline, is_watch=view.shows_traffic)):
        value = measure.value(newest) if newest else None
        role = measure.role if value is not None else "muted"
        name: TextLine = (TextSpan(measure.title, "strong"), TextSpan(f" {measure.unit}", "muted"))
        yield _Row((1, 5, 2)[number], [justify(name, (TextSpan(measure.text(value), role),), width)])
        if number == 0 and view.throughput:
            for place, each in enumerate(measure.details(view.throughput)):
                yield _Row(20 + place, [_figure(each.name, each.value, width, each.alarm)])
    host = view.host
    yield _Row(8, [_figure("CPU of the host", percent(read("cpu_total", host) if host else None), width)])
    yield _Row(10, [_figure("Memory", percent(read("memory_used_percent", host) if host else None), width)])
    yield _Row(7, [durability_in_a_line(view, width)])
    newest_event, *earlier = events_panel(view, width, max(height - MOST_LINES, 1))
    yield _Row(9, [newest_event])
    yield _Row(19, earlier)
    if view.note is not None:
        glyph, role = ("✓", "") if view.note.ok else ("✗", "risk")
        yield _Row(0, text_lines([f"{glyph} {view.note.text}"], width, role))
    else:
        yield _Row(11, [line for line in message_line(view, width, 1) if plain_text(line).strip()])
    if is_asking:
        text = "A dialog is open: enlarge the window to see it, or close it with esc."
        yield _Row(0, text_lines([text], width, "warn"))
    enlarge = (
        f"Charts and dialogs need {needed[0]}×{needed[1]} characters, this terminal has {width}×{height}."
    )
    yield _Row(13, text_lines([enlarge], width, "muted"))
    yield _Row(0, [_way_out(view)])


def _figure(name: str, value: str, width: int, alarm: bool = False) -> TextLine:
    return justify((TextSpan(name, "muted"),), (TextSpan(value, "warn" if alarm else "strong"),), width)


def _way_out(view: View) -> TextLine:
    """The keys that leave the screen without a question; those of a viewer that did not start the session do
    not stop it.
    """
    stop, leave = (action_key(ACTIONS_BY_NAME[name], view) for name in ("stop", "leave"))
    if view.cannot_steer:
        return TextSpan(stop, "key"), TextSpan(" leaves", "muted")
    return TextSpan(leave, "key"), TextSpan(" leaves, the run continues", "muted")
