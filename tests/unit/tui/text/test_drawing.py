"""Charts as text: what a value looks like, and what a missing one does not."""

import ast
from collections.abc import Iterator
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tuibench import tui
from tuibench.tui.text import drawing

VALUES = st.lists(st.none() | st.floats(0, 1000), max_size=40)


def test_bars_rise_from_a_zero_baseline_in_eighths() -> None:
    assert drawing.draw_bars([0, 25, 50, 75, 100], 100, 2) == ["   ▄█", "▁▄███"]


def test_a_missing_value_is_a_break_in_the_baseline_and_a_zero_is_not() -> None:
    assert drawing.draw_bars([10, None, 0, 10], 10, 1) == ["█ ▁█"]


def test_bars_have_a_plain_form() -> None:
    assert drawing.draw_bars([0, 20, 50, None, 80, 100], 100, 1, ascii_only=True) == ["..- =#"]


def test_a_value_above_the_top_stays_inside() -> None:
    assert drawing.draw_bars([300], 100, 2) == ["█", "█"]


@given(VALUES, st.integers(1, 12))
def test_every_row_is_as_wide_as_the_values(values: list[float | None], height: int) -> None:
    rows = drawing.draw_bars(values, 1000, height)
    assert len(rows) == height
    assert {len(row) for row in rows} == {len(values)}


@given(VALUES)
def test_only_missing_values_leave_the_baseline_empty(values: list[float | None]) -> None:
    baseline = drawing.draw_bars(values, 1000, 3)[-1]
    assert [cell == " " for cell in baseline] == [value is None for value in values]


def test_a_marker_goes_through_bar_and_air() -> None:
    rows = drawing.draw_bars([4, 4, 8], 8, 2)
    assert [drawing.strike_markers(row, {1: 7}) for row in rows] == [" │█", "█│█"]


def test_flags_stand_on_their_marker_and_stay_inside() -> None:
    assert drawing.marker_labels({0: 1, 9: 12}, 10) == {0: "1", 8: "12"}


def test_a_later_flag_hides_the_one_it_would_write_over() -> None:
    assert drawing.marker_labels({4: 10, 5: 11}, 10) == {5: "11"}


def test_the_time_axis_ends_now() -> None:
    assert drawing.time_axis_text(46, 1.0) == "             −30s           −15s           now"


def test_the_time_axis_counts_long_times_in_minutes() -> None:
    assert "−8m         −6m" in drawing.time_axis_text(60, 10.0)
    assert drawing.time_axis_text(60, 10.0).endswith("now")


def test_a_very_narrow_time_axis_still_says_now() -> None:
    assert drawing.time_axis_text(5, 1.0) == "  now"


def test_shares_fill_the_bar_exactly() -> None:
    assert drawing.share_runs([(50, "#"), (25, "=")], 8, ".") == ["####", "==", ".."]


@given(st.lists(st.floats(0, 60), max_size=4), st.integers(0, 40))
def test_shares_never_overflow(percents: list[float], width: int) -> None:
    assert len("".join(drawing.share_runs([(value, "#") for value in percents], width, "."))) == width


def test_everything_has_a_plain_form() -> None:
    assert drawing.to_ascii("▲ 16 → 32 · 4 × 100 ●…") == "! 16-->32 . 4 x 100 *~"
    assert drawing.to_ascii("  → unsafe: log 1 → 0") == "  > unsafe: log 1-->0"
    assert drawing.to_ascii("reading … ← → cursor") == "reading.. < > cursor"
    assert drawing.to_ascii("┄") == "?"


DRAWN_OTHERWISE = ("svg.py", "big_font.py", "drawing.py", "time_chart.py", "cpu_chart.py")
"""Files with block characters that an ASCII terminal never gets."""


def texts(source: str) -> Iterator[str]:
    """The string literals of a module, without its docstrings."""
    tree = ast.parse(source)
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in statements:
            yield node.value


def test_every_character_of_the_screen_has_an_ascii_form() -> None:
    """Unknown characters become question marks, as those of names from a server do."""
    files = [file for file in Path(tui.__path__[0]).rglob("*.py") if file.name not in DRAWN_OTHERWISE]
    letters = {letter for file in files for text in texts(file.read_text("utf-8")) for letter in text}
    assert len(files) > 50
    assert {letter for letter in letters - {"?"} if "?" in drawing.to_ascii(letter)} == set()
