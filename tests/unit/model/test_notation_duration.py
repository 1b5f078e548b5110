"""Lengths of time as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuibench.errors import UsageError
from tuibench.model.notation import format_delay, format_duration, parse_delay_ms, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("20ms", 0.02),
        ("500us", 0.0005),
        ("500µs", 0.0005),
        ("30s", 30),
        ("1m", 60),
        ("1m30s", 90),
        ("1h0.5m", 3630),
        ("0.25s", 0.25),
        (" 2h ", 7200),
        ("0", 0),
        ("0s", 0),
    ],
)
def test_a_length_of_time_is_a_number_with_its_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "20", "s", "20 ms", "-20ms", "2x", "1e3s", "20ms!", "1m30", ".5s", "∞s"]
)
def test_what_is_none_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a duration \(a number with its unit: 20ms"):
        parse_duration(text)


@given(st.integers(1, 10**8).map(lambda milliseconds: milliseconds / 1000))
def test_what_is_written_is_read_back(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@given(st.integers(0, 10**7))
def test_delays_too_down_to_the_microsecond(delay_us: int) -> None:
    assert parse_delay_ms(format_delay(delay_us / 1000)) == pytest.approx(delay_us / 1000)


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(0, "0ms"), (0.5, "500us"), (20, "20ms"), (1.5, "1.5ms"), (1000, "1000ms")]
)
def test_a_delay_is_said_in_milliseconds_or_less(milliseconds: float, text: str) -> None:
    assert format_delay(milliseconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(30, "30s"), (60, "1m"), (90, "90s"), (7200, "2h"), (0.5, "0.5s")]
)
def test_a_duration_is_said_in_the_largest_unit_that_leaves_it_whole(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
