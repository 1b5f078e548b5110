"""Histories: steps are found where they are, and seldom where there are none."""

import math
import random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.metrics.inference import simulated
from tests.unit.metrics.inference.noises import white
from tuibench.metrics.inference.change_points import change_points, first_alarm


def test_steps_are_found_at_their_runs() -> None:
    levels = white(random.Random(1), 120, 0.03)
    levels = [level + (-0.1 if 40 <= place < 90 else 0.0) for place, level in enumerate(levels)]
    found = change_points(levels)
    assert [point.place for point in found] == pytest.approx([40, 90], abs=2)
    assert [point.change for point in found] == pytest.approx([-0.1, 0.1], abs=0.02)


def test_a_steady_history_has_next_to_none() -> None:
    rng = random.Random(2)
    assert fmean(len(change_points(white(rng, 200, 0.03))) for _ in range(20)) <= 1


def test_a_planted_fall_is_seen_within_five_runs_on_average() -> None:
    rng = random.Random(3)
    seen = [simulated.runs_until_found(rng, 40, 15) for _ in range(200)]
    assert fmean(15 if one is None else one for one in seen) <= 5


def test_two_hundred_steady_runs_give_at_most_one_alarm() -> None:
    rng = random.Random(4)
    assert fmean(simulated.false_alarms(rng, 200) for _ in range(30)) <= 1


def test_an_alarm_says_where_the_shift_began_and_how_large_it_is() -> None:
    levels = [0.01 * (-1) ** place for place in range(30)] + [-0.1] * 4
    alarm = first_alarm(levels, math.log(0.95), 20)
    assert alarm is not None
    assert (alarm.place, alarm.seen) == (30, 30)
    assert alarm.change == pytest.approx(-0.1, abs=0.001)


def test_a_gain_is_no_fall_and_what_was_before_is_not_new() -> None:
    levels = [0.01 * (-1) ** place for place in range(30)] + [-0.1] * 30
    assert first_alarm(levels, -math.log(0.95), 10) is None
    assert first_alarm(levels, math.log(0.95), 45) is None


@pytest.mark.parametrize("levels", [[], [1.0], [1.0] * 5, [1.0] * 50])
def test_without_a_difference_there_is_no_change(levels: list[float]) -> None:
    assert change_points(levels) == []
    assert first_alarm(levels, -0.05) is None


@given(st.lists(st.floats(-2, 2), max_size=60), st.floats(-5, 5))
def test_places_are_ordered_and_do_not_depend_on_the_level(levels: list[float], shift: float) -> None:
    places = [point.place for point in change_points(levels)]
    assert places == sorted(set(places))
    assert all(3 <= place <= len(levels) - 3 for place in places)
    assert [point.place for point in change_points([-level for level in levels])] == places
