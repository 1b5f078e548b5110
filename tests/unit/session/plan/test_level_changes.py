"""Which level holds at which second of a plan, and what is told of it."""

from bisect import bisect_right
from itertools import pairwise

import pytest
from hypothesis import given, settings

from tests.unit.model.test_schedule import schedules
from tuibench.model.schedule import Quantity, RampStage, Schedule, parse_schedule, total_seconds
from tuibench.session.plan.timeline import (
    MOST_LEVELS,
    SHORTEST_LEVEL_SECONDS,
    LevelChange,
    level_changes,
    level_text,
)


def levels(text: str) -> list[tuple[float, float]]:
    """When, and how much."""
    return [(round(move.at, 9), move.level) for move in level_changes(parse_schedule(text))]


def level_at(found: list[LevelChange], second: float, quantity: Quantity = Quantity.THREADS) -> float | None:
    before = [move.level for move in found if move.at <= second and move.quantity is quantity]
    return before[-1] if before else None


def test_steps_follow_each_other() -> None:
    assert levels("8:30s,16:30s,64:1m") == [(0, 8), (30, 16), (60, 64)]


def test_an_even_ramp_is_steps_of_one_thread_that_are_equally_long() -> None:
    assert levels("1..4/40s") == levels("1:10s,2:10s,3:10s,4:10s")
    assert levels("4..1/40s") == levels("4:10s,3:10s,2:10s,1:10s")
    assert levels("7..7/40s") == [(0, 7)]


@pytest.mark.parametrize(
    ("ramp", "steps"),
    [
        ("1..8/40s doubling", "1:10s,2:10s,4:10s,8:10s"),
        ("8..1/40s doubling", "8:10s,4:10s,2:10s,1:10s"),
        ("1..5/40s doubling", "1:10s,2:10s,4:10s,5:10s"),
        ("7..2/30s doubling", "7:10s,3:10s,2:10s"),
        ("rate 0.5..4/40s doubling", "rate 0.5:10s,rate 1:10s,rate 2:10s,rate 4:10s"),
        ("rate 3..1/30s doubling", "rate 3:10s,rate 1.5:10s,rate 1:10s"),
    ],
)
def test_a_doubling_ramp_is_equally_long_steps_each_twice_or_half_the_one_before(
    ramp: str, steps: str
) -> None:
    assert levels(ramp) == levels(steps)


def test_a_steep_ramp_changes_a_few_times_a_second_only() -> None:
    found = level_changes(parse_schedule("1..1000/10s"))
    assert len(found) == 40
    assert (found[0].level, found[-1].level) == (1, 1000)
    gaps = [after.level - before.level for before, after in pairwise(found)]
    assert max(gaps) - min(gaps) <= 1


def test_a_rate_rises_evenly() -> None:
    found = level_changes(parse_schedule("rate 100..2000/60s"))
    assert len(found) == 240
    gaps = [after.level - before.level for before, after in pairwise(found)]
    assert gaps == [pytest.approx(1900 / 239)] * 239


def test_a_long_ramp_has_no_more_levels_than_it_needs() -> None:
    for text in ("rate 1..1000000/2000h", "1..100000/2000h"):
        assert len(level_changes(parse_schedule(text))) == MOST_LEVELS


@given(schedules)
@settings(deadline=None)
def test_every_plan_is_a_proper_list_of_moves(schedule: Schedule) -> None:
    found = level_changes(schedule)
    assert found[0].at == 0
    assert found[-1].at < total_seconds(schedule)
    assert all(before.at < after.at for before, after in pairwise(found))
    assert {move.stage for move in found} == set(range(len(schedule)))
    for move in found:
        stage = schedule[move.stage]
        assert min(stage.levels) <= move.level <= max(stage.levels)
        assert move.quantity is stage.quantity


@given(schedules)
@settings(deadline=None)
def test_at_any_time_the_level_is_what_the_plan_says(schedule: Schedule) -> None:
    """By the stages themselves: the middle of a step is its level, the ends of a ramp are its ends."""
    found, start = level_changes(schedule), 0.0
    starts = [move.at for move in found]
    for stage in schedule:
        at_start = found[bisect_right(starts, start + stage.seconds * 1e-6) - 1]
        at_end = found[bisect_right(starts, start + stage.seconds * (1 - 1e-9)) - 1]
        assert (at_start.level, at_end.level) == (stage.levels[0], stage.levels[-1])
        if isinstance(stage, RampStage) and not stage.doubling:
            share, span = 0.37, stage.last - stage.first
            on_the_way = found[bisect_right(starts, start + stage.seconds * share) - 1].level
            most = min(MOST_LEVELS, stage.seconds / SHORTEST_LEVEL_SECONDS)
            apart = abs(span) / max(1, most - 2) + 1
            assert abs(on_the_way - (stage.first + span * share)) <= 2 * apart + abs(span) * 0.63 * (
                stage.seconds < 4 * SHORTEST_LEVEL_SECONDS
            )
        start += stage.seconds


def test_steps_and_doublings_are_reported_singly_and_an_even_ramp_once() -> None:
    found = level_changes(
        parse_schedule("threads 8:30s,threads 1..4/2m,threads 1..2/9s doubling,rate 5:30s,rate 0:1s")
    )
    assert [move.text for move in found if move.text] == [
        "plan 1/5: 8 threads for 30s",
        "plan 2/5: from 1 thread to 4 threads in 2m",
        "plan 3/5: 1 thread for 4.5s",
        "plan 3/5: 2 threads for 4.5s",
        "plan 4/5: 5/s for 30s",
        "plan 5/5: no rate for 1s",
    ]
    assert [move.text for move in found if move.is_ramp] == [
        "plan 2/5: from 1 thread to 4 threads in 2m",
        "plan 3/5: 1 thread for 4.5s",
    ]


@pytest.mark.parametrize(
    ("quantity", "level", "words"),
    [
        (Quantity.THREADS, 1, "1 thread"),
        (Quantity.THREADS, 2000, "2,000 threads"),
        (Quantity.RATE, 0, "no rate"),
        (Quantity.RATE, 1234.5, "1,234.5/s"),
    ],
)
def test_levels_are_said_in_words(quantity: Quantity, level: float, words: str) -> None:
    assert level_text(quantity, level) == words


def test_a_stage_leaves_alone_what_it_is_not_about() -> None:
    found = level_changes(parse_schedule("threads 8:30s,rate 200:30s,threads 4:30s"))
    assert [level_at(found, second) for second in (29, 31, 61)] == [8, 8, 4]
    assert [level_at(found, second, Quantity.RATE) for second in (29, 31, 61)] == [None, 200, 200]
