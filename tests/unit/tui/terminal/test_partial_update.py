"""A partial repaint sends the cells that were refreshed, and no others."""

import io
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from textual._compositor import ChopsUpdate
from textual.strip import Strip

from tuibench.tui.terminal.partial_update import CellsUpdate
from tuibench.tui.widgets.panel import CURSOR_JUMP_CELLS, column_runs


def written(spans: list[tuple[int, int, int]]) -> str:
    """Of a line of two widgets, "abcdefgh" from column 0 and "ijklmnop" from column 8."""
    chops: list[dict[int, Strip | None]] = [
        {0: Strip([]), 8: None},
        {0: strip_of("abcdefgh"), 8: strip_of("ijklmnop")},
    ]
    update = ChopsUpdate(chops, spans, [[8, 16], [8, 16]])
    return CellsUpdate.of(update).render_segments(Console(file=io.StringIO(), color_system=None))


def strip_of(text: str) -> Strip:
    return Strip([Segment(text)])


def test_a_span_inside_a_widget_begins_where_it_begins() -> None:
    assert written([(1, 3, 5)]) == "\x1b[2;4Hde"


def test_a_span_over_two_widgets_is_cut_on_both_sides() -> None:
    assert written([(1, 6, 10)]) == "\x1b[2;7Hgh\x1b[2;9Hij"


def test_spans_of_one_line_are_apart() -> None:
    assert written([(1, 0, 1), (1, 15, 16)]) == "\x1b[2;1Ha\x1b[2;16Hp"


@given(st.sets(st.integers(0, 300), min_size=1))
def test_runs_hold_every_column_and_are_worth_the_jump_between_them(columns: set[int]) -> None:
    found = column_runs(sorted(columns))
    assert all(any(first <= column <= last for first, last in found) for column in columns)
    assert all(first in columns and last in columns for first, last in found)
    assert all(later[0] - earlier[1] > CURSOR_JUMP_CELLS for earlier, later in pairwise(found))
