"""Charts as SVG: where values come to lie, gaps, merged points, stacked areas, marks and names."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import sample
from tests.unit.record.written import server_part
from tuibench.metrics.figures import read
from tuibench.record.html.chart import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    ChartMark,
    ChartScale,
    ChartSpan,
    ChartStyle,
    time_chart,
    time_step,
)
from tuibench.record.html.series import MOST_POINTS, Series, TimeAxis, stack_series

SPAN = ChartSpan(0.0, 10.0, (), [float(second) for second in range(11)])
STYLE = ChartStyle(width=1000, height=200)


def line(*means: float | None, name: str = "a") -> Series:
    return Series(name, list(means), list(means), list(means))


def test_the_axis_begins_at_zero_and_ends_on_a_round_number() -> None:
    scale = ChartScale(SPAN, STYLE, [line(2412.0)])
    assert (scale.top, scale.y(0.0), scale.y(3000.0)) == (3000.0, 200 - BOTTOM, TOP)
    assert scale.ticks == [0.0, 1000.0, 2000.0, 3000.0]
    assert (scale.x(0.0), scale.x(10.0)) == (LEFT, 1000 - RIGHT)


def test_a_logarithmic_axis_begins_at_a_power_of_ten() -> None:
    scale = ChartScale(SPAN, STYLE._replace(logarithmic=True), [line(3.0, 180.0)])
    assert (scale.floor, scale.top) == (1.0, 200.0)
    assert scale.ticks == [1.0, 10.0, 100.0]
    assert scale.y(1.0) == 200 - BOTTOM
    assert scale.y(10.0) - scale.y(100.0) == pytest.approx(scale.y(1.0) - scale.y(10.0))


@given(st.floats(0.001, 1e9), st.floats(0, 2e9))
def test_no_value_leaves_the_picture(highest: float, value: float) -> None:
    for logarithmic in (False, True):
        scale = ChartScale(SPAN, STYLE._replace(logarithmic=logarithmic), [line(highest)])
        assert TOP <= scale.y(value) <= 200 - BOTTOM


def paths(picture: str) -> list[str]:
    return re.findall(r'class="line[^"]*" d="([^"]*)"', picture)


def test_a_gap_breaks_the_line() -> None:
    (path,) = paths(time_chart(SPAN, STYLE, [line(1.0, 2.0, None, 3.0, 4.0, None, 5.0)], "a"))
    assert path.count("M") == 3
    assert path.endswith("h.1")


def test_nothing_but_gaps_is_no_line() -> None:
    assert paths(time_chart(SPAN, STYLE, [line(None, None)], "a")) == [""]


def test_marks_stand_at_their_time_with_their_number() -> None:
    span = SPAN._replace(marks=[ChartMark(5.0, 7, "threads 4 → 8"), ChartMark(99.0, 8, "too late")])
    picture = time_chart(span, STYLE, [line(1.0)], "a")
    assert picture.count('class="mark"') == 1
    middle = (LEFT + 1000 - RIGHT) / 2
    assert f'<circle cx="{middle:g}"' in picture
    assert "<title>00:05 threads 4 → 8</title>" in picture
    assert ">7</text>" in picture


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=6))
def test_names_at_the_ends_do_not_lie_over_each_other(ends: list[float]) -> None:
    lines = [line(end, name=f"line {number}") for number, end in enumerate(ends)]
    picture = time_chart(SPAN, STYLE, lines, "a")
    places = sorted(float(y) for y in re.findall(r'class="name n\d" x="[\d.]+" y="([\d.]+)"', picture))
    assert len(places) == len(ends)
    assert all(high - low >= 12.9 for low, high in pairwise(places))
    assert places[-1] <= 200 - BOTTOM + 5


def test_a_warm_up_is_shaded() -> None:
    span = SPAN._replace(start=-5.0)
    assert "warm-up" in time_chart(span, STYLE, [line(1.0)], "a")
    assert "warm-up" not in time_chart(SPAN, STYLE, [line(1.0)], "a")


def test_what_a_chart_shows_is_said_in_words() -> None:
    assert 'aria-label="TPS &lt; 5"' in time_chart(SPAN, STYLE, [line(1.0)], "TPS < 5")


@pytest.mark.parametrize(
    ("seconds", "most", "step"), [(10, 10, 1), (100, 10, 10), (100, 4, 30), (3600, 10, 600)]
)
def test_the_time_axis_has_round_steps(seconds: float, most: int, step: float) -> None:
    assert time_step(seconds, most) == step


def test_many_samples_are_merged_and_keep_their_extremes() -> None:
    samples = [sample(number) for number in range(1, 2 * MOST_POINTS + 1)]
    axis = TimeAxis(samples)
    series = axis.series("n", lambda one: float(one.number))
    assert len(axis.times) == MOST_POINTS
    assert (series.means[0], series.lows[0], series.highs[0]) == (1.5, 1.0, 2.0)
    assert (axis.start, axis.end) == (0.0, 2.0 * MOST_POINTS)


def test_the_growth_of_a_counter_is_a_rate_and_a_gap_where_it_is_not_known() -> None:
    ticks = ((1.0, None), (0.5, 100), (3.0, 600), (1.0, 10))
    parts = [
        None,
        *(
            server_part(1, seconds=seconds, growth={} if grown is None else {"Questions": grown})
            for seconds, grown in ticks
        ),
    ]
    axis = TimeAxis([sample(number, server=part) for number, part in enumerate(parts, 1)])
    assert axis.series("q", lambda sample: read("questions", sample.tick)).means == [
        None,
        None,
        200.0,
        200.0,
        10.0,
    ]
    assert axis.series("q", lambda sample: read("com_commit", sample.tick)).is_empty


def test_a_point_of_which_nothing_is_known_is_a_gap() -> None:
    axis = TimeAxis([sample(1), sample(2)])
    assert axis.series("n", lambda one: None if one.number == 1 else 0.0).means == [None, 0.0]


def test_stacked_series_stand_on_each_other() -> None:
    lower, upper = stack_series([line(1.0, 2.0, None), line(10.0, None, 5.0)])
    assert (lower.means, lower.lows) == ([1.0, 2.0, None], [0.0, 0.0, 0.0])
    assert (upper.means, upper.lows) == ([11.0, None, 5.0], [1.0, 2.0, 0.0])


@pytest.mark.parametrize("seconds", [86_400.0 * 3, 1e9, 1e15])
def test_labels_of_a_long_axis_are_not_more_than_fit(seconds: float) -> None:
    step = time_step(seconds, 7)
    assert seconds / 7 <= step <= max(seconds / 3, 86_400)
    assert step % 3600 == 0
