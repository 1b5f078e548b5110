"""What of a View stands in which column of its charts: the time, the points, the numbers of the changes."""

from tuibench.model.event import CHANGES
from tuibench.tui.grid import Grid, grid
from tuibench.tui.history import Point
from tuibench.tui.view import View


def grid_of(view: View, columns: int) -> Grid:
    """The time that each of so many columns stands for."""
    return grid(view.history, view.lens.zoomed, columns, view.plan.interval_seconds)


def window(view: View, columns: int) -> list[Point | None]:
    """A point for each column, merged where a column is longer than a tick; None where no tick came."""
    chosen = grid_of(view, columns)
    return view.history.window(chosen.slots, chosen.last, columns)


def markers(view: View, columns: int) -> dict[int, int]:
    """Column → number of the changes inside the window.

    A change belongs to the first sample that ends after it: that is the first one it can have touched.
    """
    if not view.points:
        return {}
    chosen = grid_of(view, columns)
    placed: dict[int, int] = {}
    for event in view.events:
        if event.marker is None or event.kind not in CHANGES or event.elapsed_seconds > view.elapsed_seconds:
            continue
        column = chosen.column_at(event.elapsed_seconds)
        if 0 <= column < columns:
            placed[column] = event.marker
    return placed
