"""Plans: timeline, changes of level, runner."""

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.model.test_notation import schedules
from tests.unit.session.simulated_session import simulate_session
from tests.unit.session.worker_reports import report
from tuibench.base.errors import UsageError
from tuibench.load.messages import Counters
from tuibench.model.event import Event, EventKind
from tuibench.model.message import HoldPlan, Pause, Resume, ResumePlan, SetPlan, SetRate, SetThreads
from tuibench.model.plan import RunPlan
from tuibench.model.schedule import (
    PlanPhase,
    PlanProgress,
    Quantity,
    RampStage,
    Schedule,
    parse_schedule,
    total_seconds,
)
from tuibench.session.load_run import LoadRun
from tuibench.session.timeline import (
    MOST_LEVELS,
    SHORTEST_LEVEL_SECONDS,
    PlannedLevel,
    PlanTimeline,
    level_changes,
    level_text,
)

# A plan on its way: what is due when, and what holding it does.


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


# Which level holds at which second of a plan, and what is told of it.


def levels(text: str) -> list[tuple[float, float]]:
    """When, and how much."""
    return [(round(move.at, 9), move.level) for move in level_changes(parse_schedule(text))]


def level_at(found: list[PlannedLevel], second: float, quantity: Quantity = Quantity.THREADS) -> float | None:
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


# A whole session that follows a plan, in make-believe time: what each tick had, and what was told.


Script = Callable[[LoadRun], Awaitable[None]]


class Followed(NamedTuple):
    """The threads (or rates) of each tick, and the events about the plan and the levels."""

    threads: list[int]
    rates: list[float]
    told: list[tuple[EventKind, str]]
    events: tuple[Event, ...]


async def watching(_: LoadRun) -> None:
    return


def followed(folder: Path, plan: str, script: Script = watching, **changes: Any) -> Followed:
    """What became of a run with a plan; a script may steer it meanwhile."""
    schedule = parse_schedule(plan) if plan else ()
    fields: dict[str, Any] = {"threads": 8, "seconds": 6.0} | changes
    threads: list[int] = []
    rates: list[float] = []
    scripts: list[asyncio.Task[None]] = []

    def prepare(session: LoadRun) -> None:
        session.watcher.bus.interval_listeners.append(
            lambda tick: threads.append(round(tick.levels["threads"]))
        )
        session.watcher.bus.interval_listeners.append(lambda tick: rates.append(tick.levels["rate"]))

        async def played() -> None:
            await script(session)

        scripts.append(asyncio.get_running_loop().create_task(played()))

    summary = simulate_session(
        RunPlan(profile="oltp_point_select", schedule=schedule, **fields),
        lambda fleet: [report(0, connections=100)],
        folder,
        prepare,
    )
    assert scripts[0].done()
    scripts[0].result()
    kinds = (EventKind.PLAN, EventKind.THREADS, EventKind.RATE)
    told = [(event.kind, event.text) for event in summary.events if event.kind in kinds]
    return Followed(threads, rates, told, summary.events)


def after(seconds: float, *commands: Any) -> Script:
    """Submits the commands after so many seconds of the run, one a second."""

    async def script(session: LoadRun) -> None:
        await asyncio.sleep(seconds)
        for command in commands:
            await session.submit(command)
            await asyncio.sleep(1)

    return script


def test_each_tick_has_the_threads_of_its_step(tmp_path: Path) -> None:
    run = followed(tmp_path, "8:2s,16:2s,4:2s")
    assert run.threads == [8, 8, 16, 16, 4, 4]
    assert run.told == [
        (EventKind.PLAN, "plan 1/3: 8 threads for 2s"),
        (EventKind.THREADS, "plan 2/3: 16 threads for 2s"),
        (EventKind.THREADS, "plan 3/3: 4 threads for 2s"),
    ]
    changes = [event for event in run.events if event.kind is EventKind.THREADS]
    marked = [(event.marker, round(event.elapsed_seconds)) for event in changes]
    assert marked == [(1, 2), (2, 4)]


def test_a_ramp_is_one_line_in_the_charts(tmp_path: Path) -> None:
    run = followed(tmp_path, "1..6/6s", threads=1)
    assert run.threads == [1, 2, 3, 4, 5, 6]
    assert run.told == [(EventKind.THREADS, "plan 1/1: from 1 thread to 6 threads in 6s")]


def test_a_rate_is_planned_like_threads(tmp_path: Path) -> None:
    run = followed(tmp_path, "rate 20:2s,rate 40:2s,rate 0:2s", rate=20.0)
    assert run.rates == [20, 20, 40, 40, 0, 0]
    assert set(run.threads) == {8}


def test_a_run_that_outlasts_its_plan_keeps_the_last_level_and_says_so(tmp_path: Path) -> None:
    run = followed(tmp_path, "8:1s,16:2s", seconds=5.0)
    assert run.threads == [8, 16, 16, 16, 16]
    assert run.told[-1] == (EventKind.PLAN, "the plan has ended; its last level stays")


def test_the_warm_up_is_not_part_of_the_plan(tmp_path: Path) -> None:
    run = followed(tmp_path, "8:2s,16:4s", warmup_seconds=3.0)
    assert run.threads == [8, 8, 16, 16, 16, 16]


def test_a_change_by_hand_holds_the_plan_until_it_is_resumed_where_it_stopped(tmp_path: Path) -> None:
    """Held at 2.5 s with half a second left of the first step; resumed at 4.5 s."""
    run = followed(tmp_path, "8:3s,16:9s", after(2.5, SetThreads(5), SetRate(9), ResumePlan()), seconds=8.0)
    assert run.threads == [8, 8, 5, 5, 8, 16, 16, 16]
    assert run.told[1:] == [
        (EventKind.THREADS, "threads 8 → 5"),
        (EventKind.PLAN, "plan held: the threads were set manually"),
        (EventKind.RATE, "rate none → 9/s"),
        (EventKind.THREADS, "plan continues with 8 threads"),
        (EventKind.THREADS, "plan 2/2: 16 threads for 9s"),
    ]


def test_what_the_plan_is_not_about_can_be_steered_beside_it(tmp_path: Path) -> None:
    run = followed(tmp_path, "8:2s,16:9s", after(0.5, SetRate(9)), seconds=3.0)
    assert run.threads == [8, 8, 16]
    assert not any("held" in text for _, text in run.told)


def test_a_plan_is_held_and_resumed_by_command(tmp_path: Path) -> None:
    phases = []

    async def script(session: LoadRun) -> None:
        for command in (HoldPlan(), HoldPlan(), ResumePlan(), ResumePlan()):
            await asyncio.sleep(0.5)
            answer = await session.submit(command)
            assert session.plan_runner.state is not None
            phases.append((session.plan_runner.state.phase, answer))

    run = followed(tmp_path, "8:2s,16:9s", script, seconds=4.0)
    assert [phase for phase, _ in phases] == [
        PlanPhase.HELD,
        PlanPhase.HELD,
        PlanPhase.RUNNING,
        PlanPhase.RUNNING,
    ]
    assert [answer for _, answer in phases][1::2] == ["the plan is already held", "the plan is not held"]
    assert run.threads == [8, 8, 8, 16]


def test_the_plan_is_held_while_the_load_is_paused(tmp_path: Path) -> None:
    run = followed(tmp_path, "8:3s,16:9s", after(1.5, Pause(), Resume()))
    assert run.threads == [8, 8, 8, 8, 16, 16]
    assert not any(kind is EventKind.PLAN and "goes on" in text for kind, text in run.told)


def test_another_plan_takes_the_place_of_the_first(tmp_path: Path) -> None:
    run = followed(tmp_path, "8:3s,16:9s", after(1.5, SetPlan(parse_schedule("3:1s,2:1s"))))
    assert run.threads == [8, 3, 2, 2, 2, 2]
    assert (EventKind.PLAN, "plan 3:1s,2:1s") in run.told


def test_a_run_without_a_plan_can_be_given_one(tmp_path: Path) -> None:
    run = followed(tmp_path, "", after(1.5, SetPlan(parse_schedule("3:1s,2:1s"))))
    assert run.threads == [8, 3, 2, 2, 2, 2]


@pytest.mark.parametrize("command", [HoldPlan(), ResumePlan()])
@pytest.mark.parametrize("plan", ["", "8:1s"])
def test_without_a_plan_under_way_there_is_nothing_to_hold(tmp_path: Path, command: Any, plan: str) -> None:
    async def script(session: LoadRun) -> None:
        await asyncio.sleep(2)
        with pytest.raises(UsageError, match="no plan is running"):
            await session.submit(command)

    followed(tmp_path, plan, script)


def test_a_ramp_into_the_servers_limit_is_reported_once(tmp_path: Path) -> None:
    """The server lets 10 in; the eleventh is refused, and those after it are not tried."""
    asked: list[int] = []
    refused = Counters(refused={1040: 1})

    def play(fleet: Any) -> list[Any]:
        asked[:] = [int(word.split()[1]) for word in fleet.told if word.startswith("threads ")]
        return [report(0, connections=10, counters=refused if max(asked, default=0) > 10 else Counters())]

    schedule = parse_schedule("9..14/6s")
    summary = simulate_session(
        RunPlan(profile="oltp_point_select", threads=9, seconds=6.0, schedule=schedule), play, tmp_path
    )
    assert max(asked) == 11
    assert [
        event.text for event in summary.events if event.kind is EventKind.THREADS and "refused" in event.text
    ] == ["1 refused: too many connections (error 1040, max_connections); continuing with 10"]
