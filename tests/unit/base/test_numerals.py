"""Numbers in the texts of others, and a short run of the fuzzer over all sources."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import foreign
from tests.tables import for_each
from tuibench.base import numerals

NO_NUMBERS = (
    *("²", "٣", "1²", "NaN", "-Inf", "", " ", "0x10", "1_000", "1,5", "--1", "1" * 5000, str(2**64), "1e400"),
    *map(Decimal, ("NaN", "sNaN", "Infinity", "1e999999999999")),
    *(float("nan"), float("inf"), 1e300, 2**64, 10**5000, None, b"\xff"),
)


@for_each("no_number", NO_NUMBERS)
def test_what_is_no_number_is_none(no_number: object) -> None:
    assert numerals.whole(no_number) is None
    assert numerals.number(no_number) is None


def test_numbers_of_each_form() -> None:
    assert [numerals.whole(each) for each in ("-7", " 12\n", b"5", Decimal("7.9"), True)] == [-7, 12, 5, 7, 1]
    assert [numerals.number(each) for each in ("1.5e+09", ".5", b"2", Decimal("0.25"))] == [
        1.5e9,
        0.5,
        2.0,
        0.25,
    ]
    assert (numerals.count("-1"), numerals.amount("-0.5")) == (None, None)
    assert numerals.whole("1e5") is None
    assert numerals.amount(10**25, numerals.MOST_TIMER) == 1e25


@given(st.one_of(st.text(), st.binary(), st.integers(), st.floats(), st.decimals(), st.none()))
def test_a_reader_never_raises_and_keeps_its_limits(foreign_value: object) -> None:
    whole, number = numerals.whole(foreign_value), numerals.number(foreign_value)
    assert whole is None or -numerals.MOST <= whole <= numerals.MOST
    assert number is None or abs(number) <= float(numerals.MOST)
    assert numerals.unreadable(foreign_value).isprintable()


@given(st.integers(-numerals.MOST, numerals.MOST))
def test_every_number_of_64_bits_is_read(number: int) -> None:
    assert numerals.whole(str(number)) == numerals.whole(number) == number


async def test_no_foreign_text_ends_a_run() -> None:
    assert await foreign.faults(0, 20 * len(foreign.SOURCES), 600.0) == []


@pytest.mark.whole
async def test_no_foreign_text_ends_a_run_in_many_rounds() -> None:
    assert await foreign.faults(10_000, 300 * len(foreign.SOURCES), 600.0) == []
