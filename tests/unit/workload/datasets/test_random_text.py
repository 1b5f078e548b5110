"""Strings of random digits, one at a time and by the block."""

import re
import struct
from collections import Counter
from random import Random

import pytest

from tuibench.workload.datasets.random_text import (
    DIGITS,
    ConstantField,
    DigitGroupsField,
    DigitRows,
    Int32Field,
    NumberField,
    RandomCharacters,
)
from tuibench.workload.generate.random_values import digit_groups_draw


@pytest.mark.parametrize(("groups", "length"), [(1, 11), (5, 59), (10, 119)])
def test_digit_groups_have_sysbenchs_form(groups: int, length: int) -> None:
    draw = digit_groups_draw(groups, Random(1))
    values = {draw() for _ in range(200)}
    assert len(values) == 200
    for value in values:
        assert len(value) == length
        assert re.fullmatch(r"\d{11}(-\d{11})*", value)


def test_every_digit_is_equally_likely_in_every_place() -> None:
    draw = digit_groups_draw(5, Random(2))
    values = [draw() for _ in range(20_000)]
    for place in (0, 1, 10, 12, 58):
        digits = Counter(value[place] for value in values)
        assert set(digits) == set("0123456789")
        assert all(count == pytest.approx(2000, rel=0.1) for count in digits.values())


ROW = (
    ConstantField(b"<"),
    NumberField(4),
    Int32Field(),
    DigitGroupsField(10),
    ConstantField(b"|"),
    DigitGroupsField(5),
    ConstantField(b">"),
)


def test_rows_have_the_given_numbers_and_digits_of_their_own() -> None:
    layout = DigitRows(ROW, Random(3))
    block = bytes(layout.rows([1, 22, 4444], [7, -8, 2**31 - 1]))
    assert len(block) == 3 * layout.row_bytes
    rows = list(struct.iter_unpack("<x4si119sx59sx", block))
    assert [(int(row[0]), row[1]) for row in rows] == [(1, 7), (22, -8), (4444, 2**31 - 1)]
    assert all(re.fullmatch(rb"(\d{11}-){9}\d{11}", row[2]) for row in rows)
    assert len({row[2] for row in rows}) == len({row[3] for row in rows}) == 3


def test_digits_are_equally_likely_and_the_keys_own() -> None:
    digits = Counter(RandomCharacters(DIGITS, bytes(16)).take(220_000))
    assert set(digits) == set(b"0123456789")
    assert all(count == pytest.approx(22_000, rel=0.03) for count in digits.values())
    assert (
        RandomCharacters(DIGITS, bytes(16)).take(100)
        == RandomCharacters(DIGITS, bytes(16)).take(100)
        != RandomCharacters(DIGITS, bytes(range(16))).take(100)
    )


def test_digits_do_not_repeat_from_batch_to_batch() -> None:
    digits = RandomCharacters(DIGITS, bytes(16))
    assert len({bytes(digits.take(20)) for _ in range(1000)}) == 1000
