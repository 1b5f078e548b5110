"""Numbers and names as they are shown: units and suggestions."""

import math
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import for_each
from tuibench.base import units
from tuibench.base.errors import abbreviated_list, matching_names

# Numbers as people read them.

COLUMN = partial(units.milliseconds, in_column=True)


@for_each(
    ("write", "value", "text"),
    [
        (units.si, 0, "0"),
        (units.significant, 0.0123, "0.012"),
        (units.significant, 7.46, "7.5"),
        (units.significant, 100, "100"),
        (units.significant, 120.4, "120"),
        (partial(units.significant, digits=4), 63.08, "63.08"),
        (partial(units.significant, digits=4), 12_345.6, "12,346"),
        (units.si, 999, "999"),
        (units.si, 3000, "3 k"),
        (units.si, 48_240, "48.2 k"),
        (units.si, 999_499, "999 k"),
        (units.si, 999_999, "1 M"),
        (units.si, 12_500_000, "12.5 M"),
        (units.si, None, "–"),
        (units.milliseconds, 0.5, "0.5 ms"),
        (units.milliseconds, 26.44, "26.4 ms"),
        (units.milliseconds, 412.4, "412 ms"),
        (units.milliseconds, 999.96, "1 s"),
        (units.milliseconds, 1234, "1.23 s"),
        (units.milliseconds, 1_234_000, "1,234 s"),
        (units.milliseconds, None, "–"),
        (COLUMN, 26.0, "26.0 ms"),
        (COLUMN, 0.36, "0.360 ms"),
        (COLUMN, 99.97, "100 ms"),
        (COLUMN, 1200, "1.20 s"),
        (COLUMN, 0, "0 ms"),
        (units.hms, 84, "01:24"),
        (units.hms, 3723, "1:02:03"),
        (units.hms, -5, "−00:05"),
        (units.hms, 0, "00:00"),
        (units.duration, 12, "12s"),
        (units.duration, 185, "3m"),
        (units.duration, 7500, "2h 05m"),
        (units.duration, 1_051_200, "12d 4h"),
        (units.binary_size, 512, "512 B"),
        (units.binary_size, 1023, "1023 B"),
        (units.binary_size, 999 * 2**10, "999 KiB"),
        (units.binary_size, 1010 * 2**10, "0.986 MiB"),
        (units.binary_size, 1023.9 * 2**20, "1 GiB"),
        (units.binary_size, 9.1 * 2**30, "9.1 GiB"),
        (partial(units.binary_size, in_column=True), 9.1 * 2**30, "9.10 GiB"),
        (partial(units.binary_size, in_column=True), 40 * 2**10, "40.0 KiB"),
        (partial(units.binary_size, in_column=True), 305 * 2**10, "305 KiB"),
        (partial(units.binary_size, in_column=True), 512, "512 B"),
        (units.binary_size, None, "–"),
        (units.small_number, None, "–"),
        (units.small_number, 0, "0"),
        (units.small_number, 1e-4, "0"),
        (units.small_number, 0.003, "0.003"),
        (units.small_number, 0.02, "0.020"),
        (units.small_number, 1.024, "1.02"),
    ],
)
def test_a_number_with_its_unit(write: Callable[[float | None], str], value: float | None, text: str) -> None:
    assert write(value) == text


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((43, 38, 49), "+43 % (38..49 %)"),
        ((-31, -36, -25), "−31 % (−36..−25 %)"),
        ((12, 0.4, 24), "+12 % (0.4..24 %)"),
        ((1.2, -0.4, 2.8), "+1.2 % (−0.4..2.8 %)"),
        ((0.01, -0.01, 0.03), "+0.01 % (−0.01..0.03 %)"),
        ((0, 0, 0), "0.0 % (0.0..0.0 %)"),
        ((-26, -26.3, -25.7), "−26.0 % (−26.3..−25.7 %)"),
        ((85, -89.4, 829.7), "+85 % (−89..830 %)"),
        ((85, -85, 7069), "×1.9 (÷6.7..×72)"),
        ((-60, -95, 200), "÷2.5 (÷20..×3)"),
        ((-60, -95, -20), "÷2.5 (1.2..20)"),
        ((-61.5, -99.985, -37.5), "÷2.6 (÷1.6 or more)"),
        ((-61.5, -99.5, -37.5), "÷2.6 (1.6..200)"),
        ((160, 90, 40_000), "×2.6 (×1.9 or more)"),
        ((1240, 1100, 1400), "×13 (12..15)"),
        ((8343, 3616, 25_000), "×84 (37..251)"),
        ((17_540, 2, 310_000_000), "×176 (×1.02 or more)"),
        ((-99.76, -99.8, -99.7), "÷417 (333..500)"),
        ((-97, -99, -5), "÷33 (1.05..100)"),
        ((-99.7, -100, -99), "÷333 (÷100 or more)"),
        ((-100, -100, -99.5), "to 0 (÷200 or more)"),
        ((-100, -100, -100), "to 0 ()"),
        ((500, -50, math.inf), "×6 (at most ÷2)"),
        ((-97, -100, 190), "÷33 (at most ×2.9)"),
        ((-97, -100, math.inf), "÷33 ()"),
        ((60, -99.9999, 380), "×1.6 (at most ×4.8)"),
        ((1_100, -99.9999, 90_000), "×12 (at most ×901)"),
        ((-99.706, -99.7061, -99.7059), "÷340 ()"),
    ],
)
def test_a_relative_difference_is_a_percentage_or_from_ten_fold_on_a_factor(
    values: tuple[float, float, float], text: str
) -> None:
    difference, interval = units.difference_and_interval(*values)
    assert f"{difference} ({interval})" == text


def test_a_difference_alone_and_one_in_the_figure_s_own_unit() -> None:
    assert [units.difference(each) for each in (829, -3.21, -99.76)] == ["+829 %", "−3.2 %", "÷417"]
    assert units.change_and_interval(0.998, 0.985, 1.01) == ("+1.00", "0.98..1.01")
    assert units.change_and_interval(-0.02, -0.031, 0.004) == ("−0.020", "−0.031..0.004")
    assert units.change_and_interval(412, 380, 451) == ("+412", "380..451")
    assert units.change_and_interval(1.0, 0.999, 1.001) == ("+1.00", "")


@given(st.floats(min_value=1e-6, max_value=1e12))
def test_an_axis_holds_its_value_without_wasting_half(value: float) -> None:
    maximum = units.axis_maximum(value)
    assert value <= maximum * (1 + 1e-6)
    assert maximum <= value * 2.001


@pytest.mark.parametrize("value", [0.0, -3.0, float("inf"), float("nan")])
def test_an_axis_without_values_ends_at_one(value: float) -> None:
    assert units.axis_maximum(value) == 1.0


@given(st.floats(min_value=0.001, max_value=1e9))
def test_the_parts_of_an_axis_end_on_round_numbers(value: float) -> None:
    top = units.axis_maximum(value)
    digits = f"{top / units.axis_parts(top):.3e}".partition("e")[0]
    assert digits in ("1.000", "2.000", "5.000", "2.500")


# Which name is meant.


NAMES = ["20260101-120000-oltp_read_write", "20260101-120500-oltp_insert", "20260102-090000-tpcc"]


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        (NAMES[0], [NAMES[0]]),
        ("20260102", [NAMES[2]]),
        ("20260101", NAMES[:2]),
        ("insert", [NAMES[1]]),
        ("oltp", NAMES[:2]),
        ("", NAMES),
        ("slap", []),
    ],
)
def test_a_name_a_beginning_or_a_part_is_enough(wanted: str, meant: list[str]) -> None:
    assert matching_names(wanted, NAMES) == meant


def test_a_name_is_itself_though_others_begin_so() -> None:
    assert matching_names("a", ["a", "ab"]) == ["a"]


def test_many_names_are_not_all_listed() -> None:
    assert abbreviated_list(["a", "b"]) == "a, b"
    assert abbreviated_list([f"run{number}" for number in range(1_203)]) == "run0, run1, run2 and 1,200 more"
