"""Mapping of a View to the columns of its charts: times, points, numbers of the changes."""

from tuibench.model.event import CHANGE_KINDS
from tuibench.tui.charts.history import ChartPoint
from tuibench.tui.charts.time_grid import TimeGrid, make_grid
from tuibench.tui.view import View


def view_grid(view: View, columns: int) -> TimeGrid:
    """Time grid of charts with this number of columns."""
    return make_grid(view.history, view.chart_state.zoomed, columns, view.plan.interval_seconds)


def chart_points(view: View, columns: int) -> list[ChartPoint | None]:
    """One point per column, merged if a column is longer than a tick; None for a column without ticks."""
    chosen = view_grid(view, columns)
    blocks = view.history.window(chosen.slots, chosen.last, chosen.blocks)
    return [block for block in blocks for _ in range(chosen.cells)][-columns:]


def change_markers(view: View, columns: int) -> dict[int, int]:
    """Column → number of the visible changes.

    A change belongs to the first sample that ends after it: the first one that it can have affected.
    """
    if not view.points:
        return {}
    chosen = view_grid(view, columns)
    placed: dict[int, int] = {}
    for event in view.events:
        if (
            event.marker is None
            or event.kind not in CHANGE_KINDS
            or event.elapsed_seconds > view.elapsed_seconds
        ):
            continue
        column = chosen.column_at(event.elapsed_seconds)
        if 0 <= column < columns:
            placed[column] = event.marker
    return placed
