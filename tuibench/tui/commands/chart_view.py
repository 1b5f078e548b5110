"""Chart navigation: pure functions from a view and the charts' width to a view.

`columns` is the width of the visible screen's charts in cells, 0 without charts: then there is no cursor.
"""

from collections.abc import Callable

import msgspec

from tuibench.tui.chart_columns import view_grid
from tuibench.tui.charts.chart_state import MAX_FIGURES, MAX_MARKS, ChartState, compare_spans
from tuibench.tui.charts.figures.table import figure_of
from tuibench.tui.charts.time_grid import ZOOMS
from tuibench.tui.view import View, visible_view, with_note

ViewChange = Callable[[View, int], View]

_MARK_NAMES = ("first end of span A", "other end of span A", "first end of span B", "other end of span B")
_NO_EFFECT = "no effect yet: the effect of a change is measured after the load has settled"
_NO_SECOND_EFFECT = (
    "a comparison needs two effects: the effect of a change is measured after the load has settled"
)
_MARK_HINT = "← → moves the cursor, c marks the {}, esc ends it"


def zoom_by(by: int) -> ViewChange:
    """Show more time on the charts (+1), or less (−1)."""

    def change(view: View, columns: int) -> View:
        place = min(max(view.chart_state.zoom + by, 0), len(ZOOMS) - 1)
        return _with_chart_state(view, zoom=place)

    return change


def move_cursor(by: int) -> ViewChange:
    """Move the cursor by a number of ticks to the right; it first appears at the newest."""

    def change(view: View, columns: int) -> View:
        if view.chart_state.cursor is None:
            return point_cursor(view, columns, columns - 1)
        grid = view_grid(visible_view(view), columns)
        return point_cursor(view, columns, grid.column_at(view.chart_state.cursor[1]) + by * grid.cells)

    return change


def cursor_at(elapsed_seconds: float) -> ViewChange:
    """Place the cursor at a time, and zoom out as far as that requires."""

    def change(view: View, columns: int) -> View:
        for place in range(view.chart_state.zoom, len(ZOOMS)):
            wider = _with_chart_state(view, zoom=place)
            column = view_grid(visible_view(wider), columns).column_at(elapsed_seconds) if columns > 0 else 0
            if column >= 0:
                return point_cursor(wider, columns, column)
        return view

    return change


def cursor_to_oldest(view: View, columns: int) -> View:
    return point_cursor(view, columns, 0)


def cursor_to_newest(view: View, columns: int) -> View:
    return point_cursor(view, columns, columns - 1)


def point_cursor(view: View, columns: int, column: int) -> View:
    """Place the cursor at a column, or at the nearest one that has a time."""
    shown = visible_view(view)
    if columns <= 0 or not shown.history.points:
        return view
    grid = view_grid(shown, columns)
    first = max(0, grid.column_of(shown.history.first_slot))
    return _with_chart_state(view, cursor=grid.stretch_of(min(max(column, first), columns - 1)))


def toggle_freeze(view: View, columns: int) -> View:
    """Freeze the charts while the run goes on, or unfreeze them."""
    return msgspec.structs.replace(view, frozen=None if view.frozen else view)


def toggle_clock(view: View, columns: int) -> View:
    """Switch the axis between the time of day and seconds ago."""
    return _with_chart_state(view, clock=not view.chart_state.clock)


def mark_span_end(view: View, columns: int) -> View:
    """Mark an end of a span at the cursor; the fourth mark compares the spans."""
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
    """Clear cursor, spans and pins; a frozen view is unfrozen."""
    return msgspec.structs.replace(
        _with_chart_state(view, cursor=None, marks=(), difference=None, pins=()), frozen=None
    )


def toggle_figure(key: str, shown: tuple[str, ...]) -> ViewChange:
    """Add a figure to the charts of its screen, or remove it; `shown` are the current ones.

    The number is limited: the oldest one is removed.
    """

    def change(view: View, columns: int) -> View:
        figures = _toggled(key, shown)
        return with_note(
            _with_chart_state(view, figures=figures), _toggle_text(key, shown, "the chart"), ok=True
        )

    return change


def toggle_on_live(key: str) -> ViewChange:
    """Add a figure to the first screen, or remove it."""

    def change(view: View, columns: int) -> View:
        before = view.chart_state.on_live
        on_live = _toggled(key, before)
        return with_note(_with_chart_state(view, on_live=on_live), _toggle_text(key, before, "Live"), ok=True)

    return change


def _toggled(key: str, shown: tuple[str, ...]) -> tuple[str, ...]:
    if key in shown:
        return tuple(each for each in shown if each != key)
    return (*shown, key)[-MAX_FIGURES:]


def _toggle_text(key: str, shown: tuple[str, ...], place: str) -> str:
    """Message about the figure that was added or removed."""
    figure = figure_of(key)
    title = figure.title if figure is not None else key
    if key in shown:
        return f"{title} is off {place}"
    oldest = figure_of(shown[0]) if len(shown) >= MAX_FIGURES else None
    return f"{title} is on {place}" + (f"; {oldest.title} was removed" if oldest is not None else "")


def pin_effect(marker: int) -> ViewChange:
    """Pin the effect of this change."""
    return pin_effects((marker,))


def pin_effects(markers: tuple[int, ...]) -> ViewChange:
    """Pin the effects of these changes: one, or two side by side."""
    return lambda view, columns: _with_chart_state(view, pins=markers)


def pin_previous_effect(view: View, columns: int) -> View:
    """Pin the newest effect, then the one before it, and so on; after the oldest, follow the newest again.

    While two effects are compared, the second one changes.
    """
    known = [effect.markers[-1] for effect in view.effects]
    if not known:
        return with_note(view, _NO_EFFECT, ok=False)
    first, moving = view.chart_state.pins[:-1], view.chart_state.pins[-1:]
    older = [marker for marker in known if not moving or marker < moving[0]]
    if first:
        others = [marker for marker in known if marker not in first]
        older = [marker for marker in older if marker in others] or others
    pins = (*first, older[-1]) if older else ()
    words = f"pinned: the effect of {pins[-1]}" if pins else "the newest effect is shown again"
    return with_note(_with_chart_state(view, pins=pins), words, ok=True)


def compare_effects(view: View, columns: int) -> View:
    """Compare the shown effect with another one; a second press ends the comparison."""
    known = [effect.markers[-1] for effect in view.effects]
    pins = view.chart_state.pins
    if len(pins) == 2:
        return with_note(_with_chart_state(view, pins=pins[:1]), f"pinned: the effect of {pins[0]}", ok=True)
    first = pins[0] if pins else known[-1] if known else None
    others = [marker for marker in known if marker != first]
    if first is None or not others:
        return with_note(view, _NO_SECOND_EFFECT, ok=False)
    words = f"compared: the effects of {first} and {others[-1]}; e selects another second effect"
    return with_note(_with_chart_state(view, pins=(first, others[-1])), words, ok=True)


def _whole_range(chart_state: ChartState) -> tuple[float, float]:
    return min(start for start, _ in chart_state.spans), max(end for _, end in chart_state.spans)


def _ask_next_mark(view: View) -> View:
    return with_note(view, _MARK_HINT.format(_MARK_NAMES[len(view.chart_state.marks)]), ok=True)


def _with_chart_state(view: View, **changes: object) -> View:
    return msgspec.structs.replace(view, chart_state=msgspec.structs.replace(view.chart_state, **changes))
