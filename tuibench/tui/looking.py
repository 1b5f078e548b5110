"""What the keys of the charts make of a view: pure functions from a view and the charts' width to a view.

`columns` is how many cells wide the charts of the visible screen are, 0 where it has none: then there is
nothing to point at.
"""

from collections.abc import Callable

import msgspec

from tuibench.tui.columns import grid_of
from tuibench.tui.comparing import compared
from tuibench.tui.grid import ZOOMS
from tuibench.tui.lens import MARKS, Lens
from tuibench.tui.view import View, noted, picture

ViewChange = Callable[[View, int], View]

_ASKED = ("first end of span A", "other end of span A", "first end of span B", "other end of span B")
_HOW = "← → moves the cursor, c marks the {}, esc ends it"


def zoomed(by: int) -> ViewChange:
    """More time on the charts (+1), or less (−1)."""

    def look(view: View, columns: int) -> View:
        place = min(max(view.lens.zoom + by, 0), len(ZOOMS) - 1)
        return _with(view, zoom=place)

    return look


def moved(by: int) -> ViewChange:
    """The cursor so many columns to the right; it appears at the newest."""

    def look(view: View, columns: int) -> View:
        if view.lens.cursor is None:
            return pointed(view, columns, columns - 1)
        return pointed(view, columns, grid_of(picture(view), columns).column_at(view.lens.cursor[1]) + by)

    return look


def at(elapsed_seconds: float) -> ViewChange:
    """The cursor at a moment, with as much time on the charts as that needs."""

    def look(view: View, columns: int) -> View:
        for place in range(view.lens.zoom, len(ZOOMS)):
            wider = _with(view, zoom=place)
            column = grid_of(picture(wider), columns).column_at(elapsed_seconds) if columns > 0 else 0
            if column >= 0:
                return pointed(wider, columns, column)
        return view

    return look


def oldest(view: View, columns: int) -> View:
    return pointed(view, columns, 0)


def newest(view: View, columns: int) -> View:
    return pointed(view, columns, columns - 1)


def pointed(view: View, columns: int, column: int) -> View:
    """The cursor at a column, or at the nearest one that has a time."""
    shown = picture(view)
    if columns <= 0 or not shown.history.points:
        return view
    grid = grid_of(shown, columns)
    first = max(0, grid.column_of(shown.history.first_slot))
    return _with(view, cursor=grid.stretch_of(min(max(column, first), columns - 1)))


def frozen(view: View, columns: int) -> View:
    """The picture stands still while the run goes on, or moves again."""
    return msgspec.structs.replace(view, frozen=None if view.frozen else view)


def marked(view: View, columns: int) -> View:
    """One more end of a span, at the cursor; with the fourth the spans are compared."""
    if columns <= 0 or not view.history.points:
        return view
    if view.lens.cursor is None or len(view.lens.marks) >= MARKS:
        fresh = _with(view, marks=(), difference=None)
        return _asking(fresh if fresh.lens.cursor is not None else newest(fresh, columns))
    marks = (*view.lens.marks, view.lens.cursor)
    if len(marks) < MARKS:
        return _asking(_with(view, marks=marks))
    lens = msgspec.structs.replace(view.lens, marks=marks)
    found = compared(picture(view).history.between(*_whole(lens)), *lens.spans)
    return msgspec.structs.replace(_with(view, marks=marks, difference=found, cursor=None), note=None)


def cleared(view: View, columns: int) -> View:
    """Without cursor and spans; what is frozen moves again."""
    return msgspec.structs.replace(_with(view, cursor=None, marks=(), difference=None), frozen=None)


def _whole(lens: Lens) -> tuple[float, float]:
    return min(start for start, _ in lens.spans), max(end for _, end in lens.spans)


def _asking(view: View) -> View:
    return noted(view, _HOW.format(_ASKED[len(view.lens.marks)]), ok=True)


def _with(view: View, **changes: object) -> View:
    return msgspec.structs.replace(view, lens=msgspec.structs.replace(view.lens, **changes))
