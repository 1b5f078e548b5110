"""Counters into rates: what is known adds up, what is not known is None."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuibench.metrics.series.rates import counter_interval, growth, ratio

counts = st.integers(min_value=0, max_value=2**64)
readings = st.dictionaries(st.sampled_from("abcdef"), counts)
seconds = st.floats(min_value=0.001, max_value=1e6)


@given(readings, readings, seconds)
def test_every_counter_of_both_readings_either_grew_or_went_back(
    before: dict[str, int], after: dict[str, int], elapsed: float
) -> None:
    interval = counter_interval(before, after, elapsed)
    grew, fell = set(interval.deltas), set(interval.went_back)
    assert grew | fell == set(before) & set(after)
    assert not grew & fell
    assert interval.reset == any(after[name] < before[name] for name in fell | grew)


@given(readings, readings, seconds)
def test_a_delta_leads_from_one_reading_to_the_next(
    before: dict[str, int], after: dict[str, int], elapsed: float
) -> None:
    for name, delta in counter_interval(before, after, elapsed).deltas.items():
        assert before[name] + delta == after[name]


@given(counts, counts, counts)
def test_two_intervals_add_up_to_the_whole(first: int, second: int, third: int) -> None:
    low, middle, high = sorted((first, second, third))
    parts = [
        counter_interval({"n": a}, {"n": b}, 1.0).deltas.get("n") for a, b in ((low, middle), (middle, high))
    ]
    assert sum(part or 0 for part in parts) == counter_interval({"n": low}, {"n": high}, 2.0).deltas.get("n")


def test_a_counter_that_went_back_has_no_growth_and_is_named() -> None:
    interval = counter_interval({"fell": 5, "grew": 1}, {"fell": 4, "grew": 3}, 1.0)
    assert interval.went_back == ("fell",)
    assert interval.deltas == {"grew": 2}


def test_a_counter_missing_on_either_side_has_no_growth() -> None:
    interval = counter_interval({"gone": 5}, {"new": 4}, 1.0)
    assert (interval.deltas.get("gone"), interval.deltas.get("new"), interval.reset) == (None, None, False)


@pytest.mark.parametrize(
    ("before", "after", "expected"), [(1, 3, 2), (3, 3, 0), (3, 1, None), (None, 3, None), (1, None, None)]
)
def test_growth(before: int | None, after: int | None, expected: int | None) -> None:
    assert growth(before, after) == expected


@pytest.mark.parametrize(
    ("part", "whole", "expected"), [(1, 4, 0.25), (0, 4, 0.0), (1, 0, None), (None, 4, None), (1, None, None)]
)
def test_ratio(part: float | None, whole: float | None, expected: float | None) -> None:
    assert ratio(part, whole) == expected
