"""Drawing with characters: spans, tables and big digits."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import for_each
from tuibench import tui
from tuibench.tui import text as drawing
from tuibench.tui.text import (
    LETTER_HEIGHT,
    TextLine,
    TextSpan,
    big_digits,
    big_letters,
    fit_line,
    join_parts,
    justify,
    largest_scale,
    line_width,
    pad_line,
    plain_text,
    shorten,
    shorten_start,
    width_in_dots,
    wrap_text,
)

# Charts as text: what a value looks like, and what a missing one does not.


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


def test_a_marker_stands_where_there_is_no_bar() -> None:
    rows = drawing.draw_bars([4, 4, 8], 8, 2)
    assert [drawing.strike_markers(row, {1: 7, 2: 8}) for row in rows] == [" │█", "███"]
    assert drawing.strike_markers(drawing.RULE * 3, {1: 7}, drawing.CROSSING) == "─┼─"


def test_flags_stand_on_their_marker_and_stay_inside() -> None:
    assert drawing.marker_labels({0: "1", 9: "12"}, 10) == {0: "1", 8: "12"}


def test_a_later_flag_hides_the_one_it_would_write_over() -> None:
    assert drawing.marker_labels({4: "10", 5: "11"}, 10) == {5: "11"}


def test_two_numbers_never_read_as_one() -> None:
    assert drawing.marker_labels({3: "3", 4: "4"}, 10) == {4: "4"}
    assert drawing.marker_labels({3: "3", 5: "4"}, 10) == {3: "3", 5: "4"}


def test_a_label_that_would_be_touched_is_cut_to_its_number() -> None:
    assert drawing.marker_labels({0: "3 probe", 5: "4"}, 10) == {0: "3", 5: "4"}
    assert drawing.marker_labels({0: "3 probe", 8: "4"}, 10) == {0: "3 probe", 8: "4"}


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
    assert drawing.to_ascii("▲ 16 → 32 · 4 × 100 ●") == "! 16-->32 . 4 x 100 *"
    assert drawing.to_ascii("  → unsafe: log 1 → 0") == "  > unsafe: log 1-->0"
    assert drawing.to_ascii("reading … ← → cursor") == "reading.. < > cursor"
    assert drawing.to_ascii("┄") == "?"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("WHERE id IN (?, …) AN…", "WHERE id IN (?,..) A.."),
        ("… · …/mysqld.sock", ". . ..mysqld.sock"),
        ("\x1b[1;31m…\x1b[0mmore…", "\x1b[1;31m.\x1b[0mmor.."),
        ("2,051 TPS ±4.1 %, ±0.3 ms (+0.4 ± 3.8 %)", "2,051 TPS +-4.1%, +-0.3ms (+0.4 +-3.8 %)"),
        ("±2%", "~2%"),
    ],
)
def test_an_ellipsis_and_a_deviation_are_told_apart_in_as_many_cells(text: str, plain: str) -> None:
    assert drawing.to_ascii(text) == plain
    assert len(plain) == len(text)


DRAWN_OTHERWISE = ("picture.py", "text.py", "time_chart.py", "plots.py")
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
    assert len(files) > 20
    assert {letter for letter in letters - {"?"} if "?" in drawing.to_ascii(letter)} == set()


# Big digits, read as pictures.


def test_digits_are_blocks() -> None:
    assert big_digits("2,41") == (
        "▀▀█   █ █ ▀█ ",
        "█▀▀   ▀▀█  █ ",
        "▀▀▀ █   ▀ ▀▀▀",
    )


def test_digits_have_a_plain_form() -> None:
    assert big_digits("25.", ascii_only=True) == ("   ", "25.", "   ")


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("text", ["0123456789", "1,234.5", "–"])
def test_the_rows_are_equally_wide(text: str, ascii_only: bool) -> None:
    assert len({len(row) for row in big_digits(text, ascii_only=ascii_only)}) == 1


def test_every_digit_is_a_different_picture() -> None:
    assert len({big_digits(digit) for digit in "0123456789"}) == 10
    assert len({big_digits(digit, ascii_only=True) for digit in "0123456789"}) == 10


# Lines of spans: widths hold whatever is written into them.


LINES = st.lists(st.builds(TextSpan, st.text("ab · 漢", max_size=6)), max_size=5).map(tuple)


@given(LINES, st.integers(0, 30))
def test_a_padded_line_is_exactly_as_wide_as_asked(line: TextLine, width: int) -> None:
    assert line_width(pad_line(line, width)) == width


@given(LINES, st.integers(0, 30))
def test_a_fitted_line_is_never_wider(line: TextLine, width: int) -> None:
    assert line_width(fit_line(line, width)) <= width


@given(LINES, LINES, st.integers(0, 40))
def test_both_ends_share_the_width(left: TextLine, right: TextLine, width: int) -> None:
    assert line_width(justify(left, right, width)) == width


def test_the_right_end_wins() -> None:
    assert plain_text(justify((TextSpan("a long left"),), (TextSpan("right"),), 12)) == "a lon… right"


def test_shortened_text_shows_that_it_is() -> None:
    assert shorten("durability", 6) == "durab…"
    assert shorten("abc", 3) == "abc"
    assert shorten_start("/run/mysqld/mysqld.sock", 12) == "…mysqld.sock"
    assert shorten_start("socket /run/mysqld/mysqld.sock", 18) == "…/mysqld.sock"


def test_empty_parts_leave_no_separator() -> None:
    parts: list[TextLine] = [(TextSpan("a"),), (), (TextSpan("b"),)]
    assert plain_text(join_parts(parts, TextSpan(" · "))) == "a · b"


def test_text_is_broken_at_blanks() -> None:
    assert wrap_text("no privilege to read it", 12) == ["no privilege", "to read it"]
    assert wrap_text("most: 2,099 TPS", 12) == ["most:", "2,099 TPS"]
    assert wrap_text("by (+0.7 ± 3.4 %)\nat 16 threads", 14) == ["by", "(+0.7 ± 3.4 %)", "at 16 threads"]


# Letters of any size: as wide and as high as they say, and told from each other.


def rows_of(scale: int) -> int:
    """How many cells high a line of letters is: a dot is `scale` cells wide and half as many high."""
    return (LETTER_HEIGHT * scale + 1) // 2


def test_a_line_of_letters() -> None:
    assert big_letters("25.", 1) == ["▀▀█ █▀▀  ", "█▀▀ ▀▀█  ", "▀▀▀ ▀▀▀ ▀"]
    assert big_letters("÷53", 1) == [" ▀  █▀▀ ▀▀█", "▀▀▀ ▀▀█  ▀█", " ▀  ▀▀▀ ▀▀▀"]
    assert big_letters("1", 2) == ["████  ", "  ██  ", "  ██  ", "  ██  ", "██████"]
    assert big_letters("−", 2, ascii_only=True) == ["      ", "      ", "######", "      ", "      "]


def test_without_blocks_it_is_plain_text_or_made_of_one_sign() -> None:
    assert big_letters("26.9", 1, ascii_only=True) == ["    ", "26.9", "    "]
    assert {sign for row in big_letters("26.9", 3, ascii_only=True) for sign in row} == {"#", " "}


@for_each("scale", [1, 2, 3, 5])
@for_each("text", ["2,450", "26.9", "AT RISK", "DURABLE", "+55%", "–", "="])
def test_it_is_as_large_as_it_says(text: str, scale: int) -> None:
    rows = big_letters(text, scale)
    assert {len(row) for row in rows} == {width_in_dots(text) * scale}
    assert len(rows) == rows_of(scale)


def test_characters_differ_from_each_other_except_5_and_s() -> None:
    characters = "0123456789.,–+=%ABDEIKLRTU "
    assert len({tuple(big_letters(character, 1)) for character in characters}) == len(characters)


@for_each("width", [10, 39, 58, 99, 300])
@for_each("height", [3, 5, 8, 20])
def test_the_largest_scale_fits_and_the_next_does_not(width: int, height: int) -> None:
    scale = largest_scale("2,450", width, height)
    if scale > 1:
        assert width_in_dots("2,450") * scale <= width
        assert rows_of(scale) <= height + 1
    assert width_in_dots("2,450") * (scale + 1) > width or rows_of(scale + 1) > height


def test_what_has_no_picture_is_left_out() -> None:
    assert big_letters("4 ms", 1) == big_letters("4 ", 1)
    assert big_letters("", 2) == [" " * 2] * 5
