"""Trends of a figure: from zero, or between the least and the greatest where none comes near zero."""

from collections.abc import Sequence

import pytest

from tuibench.tui.panels.trend import TrendRow, TrendSection, stack_sections

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
