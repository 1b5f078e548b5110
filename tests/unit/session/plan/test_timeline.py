"""A plan on its way: what is due when, and what holding it does."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.model.test_schedule import schedules
from tuibench.model.schedule import PlanPhase, PlanProgress, Quantity, Schedule, parse_schedule, total_seconds
from tuibench.session.plan.timeline import PlanTimeline, level_changes


def course(text: str = "8:30s,16:30s,64:1m", begun_at: float | None = 0.0) -> PlanTimeline:
    made = PlanTimeline(parse_schedule(text))
    if begun_at is not None:
        made.begin(begun_at)
    return made


def due(of: PlanTimeline, now: float) -> list[float]:
    return [move.level for move in of.due(now)]


def test_moves_come_when_they_are_due_and_once() -> None:
    made = course()
    assert [due(made, now) for now in (0, 0.1, 29.9, 30, 31, 60, 200)] == [[8], [], [], [16], [], [64], []]
    assert [made.is_over(now) for now in (0, 119.9, 120)] == [False, False, True]


def test_next_due_is_the_next_move_or_the_end() -> None:
    made = course(begun_at=100)
    assert made.next_due(50) == 100
    made.due(100)
    assert made.next_due(100) == 130
    made.due(170)
    assert made.next_due(170) == 220
    assert made.next_due(220) is None


def test_nothing_is_due_before_it_began() -> None:
    made = course(begun_at=None)
    assert (made.due(10), made.next_due(10), made.state(10).phase) == ([], None, PlanPhase.WAITING)
    made.begin(10)
    assert due(made, 10) == [8]


def test_one_that_comes_late_gets_the_newest_level_of_each_quantity() -> None:
    made = course("threads 8:30s,rate 200:30s,threads 4:30s,threads 2..4/30s")
    assert due(made, 70) == [4, 200]
    late = course("8:10s,1..40/60s")
    (move,) = late.due(30)
    assert (move.level, move.text) == (14, "plan 2/2: from 1 thread to 40 threads in 1m")


def test_the_time_of_a_held_plan_stops_and_continues_from_there() -> None:
    made = course()
    made.due(10)
    made.hold(10, "by hand")
    assert (due(made, 45), made.next_due(45), made.elapsed(45)) == ([], None, 10)
    made.resume(50)
    assert made.elapsed(50) == 10
    assert due(made, 50) == [8]
    assert made.next_due(50) == 70
    assert [due(made, now) for now in (69.9, 70)] == [[], [16]]


def test_going_on_takes_the_levels_up_again_in_words() -> None:
    made = course("threads 8:30s,rate 200:30s")
    made.due(40)
    made.hold(40, "by hand")
    made.resume(41)
    assert [(move.level, move.text) for move in made.due(41)] == [
        (8, "plan continues with 8 threads"),
        (200, "plan continues with 200/s"),
    ]
    assert due(made, 42) == []


def test_a_paused_load_holds_its_plan_without_taking_levels_up_again() -> None:
    made = course()
    made.due(10)
    made.pause(10)
    assert (made.state(20).phase, due(made, 100)) == (PlanPhase.PAUSED, [])
    made.unpause(100)
    assert (due(made, 100), made.next_due(100)) == ([], 120)


def test_held_and_paused_it_goes_on_when_neither_is_left() -> None:
    made = course()
    made.due(10)
    made.pause(10)
    made.hold(15, "by hand")
    made.unpause(20)
    assert (made.elapsed(30), made.state(30).phase) == (10, PlanPhase.HELD)
    made.pause(30)
    made.resume(40)
    assert (made.elapsed(50), made.state(50).phase) == (10, PlanPhase.PAUSED)
    made.unpause(60)
    assert (made.elapsed(61), due(made, 61)) == (11, [8])


def test_one_that_was_held_before_it_began_waits_at_its_start() -> None:
    made = course(begun_at=None)
    made.hold(-5, "by hand")
    made.begin(0)
    assert (due(made, 20), made.elapsed(20)) == ([], 0)
    made.resume(30)
    assert due(made, 30) == [8]


@pytest.mark.parametrize(
    ("text", "now", "following", "due_seconds"),
    [
        ("8:30s,16:30s", 10, "16 threads", 30),
        ("8:30s,16:30s", 40, "", 60),
        ("1..128/60s,8:30s", 10, "128 threads", 60),
        ("8:30s,1..128/60s", 10, "1 thread", 30),
        ("1..8/40s doubling", 15, "4 threads", 20),
        ("rate 5:30s,rate 0:30s", 15, "no rate", 30),
    ],
)
def test_it_says_what_comes_next_and_when(text: str, now: float, following: str, due_seconds: float) -> None:
    made = course(text)
    made.due(now)
    state = made.state(now)
    assert (state.phase, state.following) == (PlanPhase.RUNNING, following)
    assert state.due_seconds == pytest.approx(due_seconds)
    assert state.left_seconds == pytest.approx(due_seconds - now)


def test_the_state_tells_stage_and_reason() -> None:
    made = course()
    made.due(40)
    made.hold(40, "the threads were set manually")
    assert made.state(99) == PlanProgress(
        stages=made.stages,
        phase=PlanPhase.HELD,
        stage=2,
        following="64 threads",
        due_seconds=None,
        left_seconds=20,
        held="the threads were set manually",
    )
    assert course().state(120).phase is PlanPhase.OVER


# Whatever is done to it


looks = st.lists(
    st.tuples(st.floats(0.01, 50), st.sampled_from(["look", "hold", "resume", "pause", "go on"])), max_size=30
)


@given(schedules, looks)
@settings(deadline=None)
def test_the_levels_are_those_of_the_plans_own_time_whatever_held_it(schedule: Schedule, asked: Any) -> None:
    made, now, passed, levels = PlanTimeline(schedule), 0.0, 0.0, dict[Quantity, float]()
    made.begin(0)
    held = paused = False
    for seconds, what in asked:
        now += seconds
        passed += seconds * (not held and not paused)
        if what == "hold":
            made.hold(now, "by hand")
        elif what == "resume":
            made.resume(now)
        elif what == "pause":
            made.pause(now)
        elif what == "go on":
            made.unpause(now)
        held = (held or what == "hold") and what != "resume"
        paused = (paused or what == "pause") and what != "go on"
        assert made.elapsed(now) == pytest.approx(passed)
        levels |= {move.quantity: move.level for move in made.due(now)}
        if not held and not paused and not near_a_move(schedule, made.elapsed(now)):
            assert levels == levels_at(schedule, made.elapsed(now))
    assert made.is_over(now) == (made.elapsed(now) >= total_seconds(schedule) - 1e-6)


def levels_at(schedule: Schedule, second: float) -> dict[Quantity, float]:
    return {move.quantity: move.level for move in level_changes(schedule) if move.at <= second}


def near_a_move(schedule: Schedule, second: float) -> bool:
    """Where rounding decides."""
    return any(abs(move.at - second) < 1e-5 for move in level_changes(schedule))
