"""Strings of random digits, one at a time and by the block."""

import re
from collections import Counter
from random import Random

import pytest

from tuibench.workload.datasets.digits import Layout
from tuibench.workload.values import digit_groups


@pytest.mark.parametrize(("groups", "length"), [(1, 11), (5, 59), (10, 119)])
def test_digit_groups_have_sysbenchs_form(groups: int, length: int) -> None:
    draw = digit_groups(groups, Random(1))
    values = {draw() for _ in range(200)}
    assert len(values) == 200
    for value in values:
        assert len(value) == length
        assert re.fullmatch(r"\d{11}(-\d{11})*", value)


def test_every_digit_is_equally_likely_in_every_place() -> None:
    draw = digit_groups(5, Random(2))
    values = [draw() for _ in range(20_000)]
    for place in (0, 1, 10, 12, 58):
        digits = Counter(value[place] for value in values)
        assert set(digits) == set("0123456789")
        assert all(count == pytest.approx(2000, rel=0.1) for count in digits.values())


def test_rows_are_sql_with_the_given_numbers() -> None:
    rows = Layout(4, (10, 5), Random(3)).rows([1, 22, 4444], [7, 8, 9])
    form = r"\( *(\d+), *(\d+),'((?:\d{11}-){9}\d{11})','((?:\d{11}-){4}\d{11})'\)"
    assert re.fullmatch(rf"{form}(,{form})*", rows)
    found = re.findall(form, rows)
    assert [(int(row[0]), int(row[1])) for row in found] == [(1, 7), (22, 8), (4444, 9)]
    assert len({row[2] for row in found}) == 3


def test_digits_of_rows_are_equally_likely() -> None:
    rows = Layout(1, (10,), Random(4)).rows([0] * 2000, [0] * 2000)
    digits = Counter(character for row in rows.split("'")[1::2] for character in row if character != "-")
    assert digits.total() == 2000 * 110
    assert all(count == pytest.approx(22_000, rel=0.03) for count in digits.values())


def test_a_row_has_the_size_it_says() -> None:
    layout = Layout(6, (10, 5), Random(5))
    assert len(layout.rows(range(10), range(10))) == 10 * layout.row_bytes - 1
