"""The columns of a chart: two a tick while a run is young."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tui.views import short_story
from tuibench.tui.chart_columns import chart_points, view_grid
from tuibench.tui.charts.time_grid import TimeGrid
from tuibench.tui.commands.chart_view import move_cursor
from tuibench.tui.panels.plots.time_chart import cursor_column

COLUMNS = 20


def drawn(ticks: int) -> list[int]:
    """The slot that each column shows, 0 for none."""
    view = short_story(*[10.0 + number for number in range(ticks)])
    return [point.slot if point else 0 for point in chart_points(view, COLUMNS)]


@pytest.mark.parametrize("ticks", [1, 3, COLUMNS // 2])
def test_a_young_run_has_two_columns_a_tick(ticks: int) -> None:
    slots = [slot for slot in range(1, ticks + 1) for _ in range(2)]
    assert drawn(ticks) == [0] * (COLUMNS - len(slots)) + slots


def test_once_the_width_is_full_a_tick_has_one_column() -> None:
    ticks = COLUMNS // 2 + 1
    assert drawn(ticks) == [0] * (COLUMNS - ticks) + list(range(1, ticks + 1))


def test_the_cursor_moves_by_ticks() -> None:
    view = short_story(10.0, 11.0, 12.0)
    found = []
    for _ in range(3):
        view = move_cursor(-1)(view, COLUMNS)
        found.append((view.chart_state.cursor, cursor_column(view, COLUMNS)))
    assert found == [((2.0, 3.0), 18), ((1.0, 2.0), 16), ((0.0, 1.0), 14)]


def test_the_axis_of_a_young_run_is_half_as_long() -> None:
    assert view_grid(short_story(10.0), COLUMNS).column_seconds == 0.5


@given(st.integers(1, 8), st.integers(0, 500), st.integers(1, 200), st.sampled_from([1, 2]), st.data())
def test_the_time_of_a_column_is_in_a_block_that_holds_the_column(
    slots: int, last: int, columns: int, cells: int, data: st.DataObject
) -> None:
    grid = TimeGrid(slots, last, columns, 1.0, cells)
    column = data.draw(st.integers(0, columns - 1))
    start, end = grid.stretch_of(column)
    assert end - start == slots
    assert grid.column_at(end) <= column < grid.column_at(end) + cells
