"""Trends of a figure: from zero, or between the least and the greatest where none comes near zero."""

from collections.abc import Sequence

import pytest

from tuibench.tui.panels.trend import ListMarks, TrendRow, TrendSection, listed_keys, stack_sections
from tuibench.tui.text.spans import line_width, plain_text

WIDTH = 60
CELLS = "▁▂▃▄▅▆▇█"


def drawn(values: Sequence[float | None]) -> str:
    """The trend of a row."""
    lines = stack_sections([TrendSection("T", [TrendRow("name", "1", values=values)])], WIDTH, 2)
    return "".join(span.text for span in lines[1]).removeprefix("name").rsplit("1", 1)[0].strip()


def test_values_near_zero_stand_on_zero() -> None:
    assert drawn([0.0, 50.0, 100.0]) == "▁▄▇"
    assert drawn([10.0, 100.0]) == "▁▇"


def test_values_far_from_zero_show_how_they_differ() -> None:
    low, middle, high = (CELLS.index(cell) for cell in drawn([90.0, 95.0, 100.0]))
    assert 0 < low < middle < high


def test_a_level_that_hardly_moves_is_not_blown_up() -> None:
    assert len(set(drawn([1000.0, 1001.0, 1000.0, 1002.0]))) == 1


def test_a_gap_stays_one() -> None:
    assert drawn([90.0, None, 100.0])[1] == " "


@pytest.mark.parametrize("values", [[], [None], [5.0], [0.0, 0.0]])
def test_few_values(values: list[float | None]) -> None:
    assert len(drawn(values)) == sum(value is not None for value in values)


def test_what_is_always_the_same_is_half_a_row_high() -> None:
    assert drawn([214.0] * 3) == "▄▄▄"
    assert drawn([0.0] * 3) == "▁▁▁"


ROWS = [TrendRow(f"row {number}", str(number), key=f"k{number}") for number in range(9)]


def listed(height: int, marks: ListMarks) -> list[str]:
    lines = stack_sections([TrendSection("T", ROWS)], WIDTH, height, marks=marks)
    return [plain_text(line) for line in lines]


def test_the_chosen_row_is_always_among_the_lines_that_fit() -> None:
    for row in ROWS:
        shown = listed(4, ListMarks(row.key))
        assert len(shown) == 4
        assert any(line.startswith(row.name) for line in shown)
    assert listed(4, ListMarks())[0].startswith("T ")


def test_a_row_on_the_charts_is_marked_and_keeps_its_width() -> None:
    lines = stack_sections([TrendSection("T", ROWS)], 37, 10, marks=ListMarks("k1", ("k2",)))
    assert all(line_width(line) == 37 for line in lines)
    assert [plain_text(line).split()[:3] for line in lines[2:4]] == [["row", "1", "1"], ["row", "2", "●"]]
    assert lines[2][0].role == "selected"


def test_the_keys_of_a_list_are_those_of_its_rows_that_fit() -> None:
    rare = [TrendSection("T", [ROWS[0], ROWS[1]._replace(rare=True), TrendRow("no figure", "–")])]
    assert listed_keys(rare, 4) == ["k0", "k1"]
    assert listed_keys(rare, 3) == ["k0"]


def test_sections_are_further_apart_than_their_rows() -> None:
    two = [TrendSection(title, ROWS[:2]) for title in ("ONE", "TWO")]
    for height in (8, 20):
        lines = [plain_text(line).split(" ")[0] for line in stack_sections(two, WIDTH, height)]
        named = [place for place, word in enumerate(lines) if word]
        between_rows, between_sections = named[2] - named[1], named[3] - named[2]
        assert between_sections > between_rows


def test_a_missing_value_is_a_dash_before_its_reason() -> None:
    lines = stack_sections([TrendSection("T", [TrendRow("name", "–", "not counted here")])], WIDTH, 2)
    assert plain_text(lines[1]).rstrip().endswith("– not counted here")
