"""What the keys of the charts make of a view: pure functions from a view and the charts' width to a view.

`columns` is how many cells wide the charts of the visible screen are, 0 where it has none: then there is
nothing to point at.
"""

from collections.abc import Callable

import msgspec

from tuibench.tui.charts.chart_state import MAX_MARKS, ChartState, compare_spans
from tuibench.tui.charts.time_grid import ZOOMS
from tuibench.tui.view import View, view_grid, visible_view, with_note

ViewChange = Callable[[View, int], View]

_MARK_NAMES = ("first end of span A", "other end of span A", "first end of span B", "other end of span B")
_MARK_HINT = "← → moves the cursor, c marks the {}, esc ends it"


def zoom_by(by: int) -> ViewChange:
    """More time on the charts (+1), or less (−1)."""

    def look(view: View, columns: int) -> View:
        place = min(max(view.chart_state.zoom + by, 0), len(ZOOMS) - 1)
        return _with_chart_state(view, zoom=place)

    return look


def move_cursor(by: int) -> ViewChange:
    """The cursor so many ticks to the right; it appears at the newest."""

    def look(view: View, columns: int) -> View:
        if view.chart_state.cursor is None:
            return point_cursor(view, columns, columns - 1)
        grid = view_grid(visible_view(view), columns)
        return point_cursor(view, columns, grid.column_at(view.chart_state.cursor[1]) + by * grid.cells)

    return look


def cursor_at(elapsed_seconds: float) -> ViewChange:
    """The cursor at a moment, with as much time on the charts as that needs."""

    def look(view: View, columns: int) -> View:
        for place in range(view.chart_state.zoom, len(ZOOMS)):
            wider = _with_chart_state(view, zoom=place)
            column = view_grid(visible_view(wider), columns).column_at(elapsed_seconds) if columns > 0 else 0
            if column >= 0:
                return point_cursor(wider, columns, column)
        return view

    return look


def cursor_to_oldest(view: View, columns: int) -> View:
    return point_cursor(view, columns, 0)


def cursor_to_newest(view: View, columns: int) -> View:
    return point_cursor(view, columns, columns - 1)


def point_cursor(view: View, columns: int, column: int) -> View:
    """The cursor at a column, or at the nearest one that has a time."""
    shown = visible_view(view)
    if columns <= 0 or not shown.history.points:
        return view
    grid = view_grid(shown, columns)
    first = max(0, grid.column_of(shown.history.first_slot))
    return _with_chart_state(view, cursor=grid.stretch_of(min(max(column, first), columns - 1)))


def toggle_freeze(view: View, columns: int) -> View:
    """The picture stands still while the run goes on, or moves again."""
    return msgspec.structs.replace(view, frozen=None if view.frozen else view)


def mark_span_end(view: View, columns: int) -> View:
    """One more end of a span, at the cursor; with the fourth the spans are compared."""
    if columns <= 0 or not view.history.points:
        return view
    if view.chart_state.cursor is None or len(view.chart_state.marks) >= MAX_MARKS:
        fresh = _with_chart_state(view, marks=(), difference=None)
        return _ask_next_mark(
            fresh if fresh.chart_state.cursor is not None else cursor_to_newest(fresh, columns)
        )
    marks = (*view.chart_state.marks, view.chart_state.cursor)
    if len(marks) < MAX_MARKS:
        return _ask_next_mark(_with_chart_state(view, marks=marks))
    chart_state = msgspec.structs.replace(view.chart_state, marks=marks)
    found = compare_spans(visible_view(view).history.between(*_whole_range(chart_state)), *chart_state.spans)
    return msgspec.structs.replace(
        _with_chart_state(view, marks=marks, difference=found, cursor=None), note=None
    )


def clear_marks(view: View, columns: int) -> View:
    """Without cursor and spans; what is frozen moves again."""
    return msgspec.structs.replace(
        _with_chart_state(view, cursor=None, marks=(), difference=None), frozen=None
    )


def _whole_range(chart_state: ChartState) -> tuple[float, float]:
    return min(start for start, _ in chart_state.spans), max(end for _, end in chart_state.spans)


def _ask_next_mark(view: View) -> View:
    return with_note(view, _MARK_HINT.format(_MARK_NAMES[len(view.chart_state.marks)]), ok=True)


def _with_chart_state(view: View, **changes: object) -> View:
    return msgspec.structs.replace(view, chart_state=msgspec.structs.replace(view.chart_state, **changes))
