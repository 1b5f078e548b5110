"""What each command does, what is answered, and what is refused."""

import asyncio
import math

import pytest

from tests.unit.session.fakes import FakeSteered
from tuibench.errors import SQLError, TuibenchError, UsageError
from tuibench.model.command import (
    ApplyPreset,
    ChangeSetting,
    Command,
    HoldPlan,
    KillQuery,
    Mark,
    Pause,
    ResetStats,
    RestoreSettings,
    Resume,
    ResumePlan,
    SetDelay,
    SetPlan,
    SetRate,
    SetThreads,
    SetWeights,
    Stop,
    TrustServer,
    WatchActivity,
)
from tuibench.model.event import EventKind
from tuibench.model.limits import MAX_RATE, MAX_THREADS
from tuibench.model.message import RunState
from tuibench.model.schedule import Quantity, Schedule, Step
from tuibench.session.ranges import checked_rate, checked_threads
from tuibench.session.schedule import Move
from tuibench.session.steering import Steering

Told = list[tuple[EventKind, str]]
PLAN: Schedule = (Step(level=8, seconds=30), Step(level=16, seconds=60))
CHANGE = ChangeSetting("sync_binlog", "0")
COMMANDS: list[Command] = [
    SetThreads(4),
    SetRate(50),
    SetWeights({"new": 1}),
    SetDelay(20),
    SetPlan(PLAN),
    HoldPlan(),
    ResumePlan(),
    CHANGE,
    ApplyPreset("unsafe"),
    RestoreSettings(),
    TrustServer(),
    Pause(),
    Resume(),
    Mark("x"),
    ResetStats(),
    KillQuery(7),
]


@pytest.mark.parametrize(
    ("command", "answer", "done", "told"),
    [
        (
            SetThreads(16),
            "threads: 16",
            ["threads 16", "threads by hand"],
            [(EventKind.THREADS, "threads 8 → 16")],
        ),
        (SetThreads(8), "threads: 8, as before", [], []),
        (
            SetRate(1500),
            "rate: 1,500/s",
            ["rate 1500", "rate by hand"],
            [(EventKind.RATE, "rate open → 1,500/s")],
        ),
        (SetRate(0.5), "rate: 0.5/s", ["rate 0.5", "rate by hand"], [(EventKind.RATE, "rate open → 0.5/s")]),
        (
            SetWeights({"new": 50, "old": 50}),
            "weights: 50/50",
            ["weights {'new': 50, 'old': 50}"],
            [(EventKind.WEIGHTS, "weights: new 90 → 50, old 10 → 50")],
        ),
        (SetWeights({"new": 90}), "weights: 90/10, as before", ["weights {'new': 90, 'old': 10.0}"], []),
        (
            SetDelay(20),
            "simulated network delay: 20ms on each round trip",
            ["delay 20"],
            [(EventKind.DELAY, "simulated network delay 0ms → 20ms on each round trip")],
        ),
        (SetPlan(PLAN), "planned", ["plan 8:30s,16:1m"], []),
        (HoldPlan(), "held", ["hold plan"], []),
        (ResumePlan(), "resumed", ["resume plan"], []),
        (CHANGE, "sync_binlog 0: old → new", [], [(EventKind.SETTING, "sync_binlog 0: old → new")]),
        (ApplyPreset("unsafe"), "unsafe: old → new", [], [(EventKind.SETTING, "unsafe: old → new")]),
        (
            RestoreSettings(("a", "b")),
            "a: old → new; b: old → new",
            [],
            [(EventKind.SETTING, "a: old → new; b: old → new")],
        ),
        (RestoreSettings(), "nothing was changed, so there is nothing to put back", [], []),
        (Pause(), "paused", ["hold"], [(EventKind.PAUSE, "paused")]),
        (Resume(), "not paused", [], []),
        (Mark("here"), "marked", [], [(EventKind.MARK, "here")]),
        (Mark(), "marked", [], [(EventKind.MARK, "mark")]),
        (
            ResetStats(),
            "the figures of the run begin anew",
            ["begin anew"],
            [(EventKind.RESET, "figures of the run begin anew")],
        ),
        (KillQuery(7), "killed 7", ["kill 7"], [(EventKind.KILL, "killed 7")]),
        (WatchActivity(), "watching", ["renew"], []),
        (Stop(), "stopping", ["stop"], []),
    ],
)
async def test_each_command_has_its_effect_its_event_and_its_answer(
    command: Command, answer: str, done: list[str], told: Told
) -> None:
    session = FakeSteered()
    assert await Steering(session).carry_out(command) == answer
    assert (session.done, session.told) == (done, told)


async def test_a_pause_ends_with_resume_and_is_not_doubled() -> None:
    session = FakeSteered()
    steering = Steering(session)
    answers = [await steering.carry_out(command) for command in (Pause(), Pause(), Resume(), Resume())]
    assert answers == ["paused", "already paused", "running again", "not paused"]
    assert session.done == ["hold", "go on"]
    assert [kind for kind, _ in session.told] == [EventKind.PAUSE, EventKind.RESUME]


async def test_threads_change_while_paused() -> None:
    session = FakeSteered(RunState.PAUSED)
    assert await Steering(session).carry_out(SetThreads(3)) == "threads: 3"
    assert session.state is RunState.PAUSED


async def test_a_rate_is_taken_off_again() -> None:
    session = FakeSteered()
    steering = Steering(session)
    answers = [await steering.carry_out(SetRate(rate)) for rate in (200, 300, 0)]
    assert answers == ["rate: 200/s", "rate: 300/s", "rate: open"]
    assert [done for done in session.done if done != "rate by hand"] == ["rate 200", "rate 300", "rate 0"]
    assert [text for _, text in session.told][1:] == ["rate 200/s → 300/s", "rate 300/s → open"]


async def test_a_load_that_has_not_started_cannot_be_paused() -> None:
    session = FakeSteered(RunState.STARTING)
    with pytest.raises(UsageError, match="has not started yet"):
        await Steering(session).carry_out(Pause())
    assert session.done == []


async def test_a_warm_up_cannot_be_paused_but_steered() -> None:
    session = FakeSteered(RunState.WARMING)
    steering = Steering(session)
    with pytest.raises(UsageError, match="still warming up"):
        await steering.carry_out(Pause())
    assert await steering.carry_out(Resume()) == "not paused"
    assert await steering.carry_out(SetRate(3)) == "rate: 3/s"
    assert await steering.carry_out(SetThreads(3)) == "threads: 3"
    assert session.state is RunState.WARMING


# Following a plan

TO_16 = Move(30, Quantity.THREADS, 16, 1, "plan 2/2: 16 threads for 1m")
TO_8 = Move(0, Quantity.THREADS, 8, 0, "plan 1/2: 8 threads for 30s")
ON_THE_WAY = Move(31, Quantity.THREADS, 17, 1)
RAMP = Move(30, Quantity.RATE, 0, 1, "plan 2/2: from no rate to 9/s in 1m", is_ramp=True)


@pytest.mark.parametrize(
    ("moves", "done", "told"),
    [
        ([TO_16], ["threads 16"], [(EventKind.THREADS, TO_16.text)]),
        ([TO_8], [], [(EventKind.PLAN, TO_8.text)]),
        ([ON_THE_WAY], ["threads 17"], []),
        ([RAMP], ["rate 0"], [(EventKind.RATE, RAMP.text)]),
        ([], [], []),
    ],
)
async def test_a_move_of_the_plan_is_told_once_and_drawn_if_something_changes(
    moves: list[Move], done: list[str], told: Told
) -> None:
    session = FakeSteered()
    await Steering(session).moving.follow(lambda: moves)
    assert (session.done, session.told) == (done, told)


async def test_a_plan_does_not_ask_again_for_what_the_server_refuses_but_an_operator_may() -> None:
    session = FakeSteered()
    session.pace.most_let_in = 12
    steering = Steering(session)
    await steering.moving.follow(lambda: [TO_16])
    await steering.moving.follow(lambda: [ON_THE_WAY])
    assert session.done == ["threads 12"]
    await steering.carry_out(SetThreads(20))
    assert session.pace.threads == 20
    assert session.pace.most_let_in is None


async def test_which_moves_are_due_is_asked_when_their_turn_comes() -> None:
    """A change by hand may have held the plan meanwhile."""
    session = FakeSteered()
    session.pace.gate.clear()
    steering = Steering(session)
    change = asyncio.create_task(steering.carry_out(SetThreads(9)))
    await asyncio.sleep(0)
    due = [TO_16]
    following = asyncio.create_task(steering.moving.follow(lambda: due))
    await asyncio.sleep(0)
    due.clear()
    session.pace.gate.set()
    await asyncio.gather(change, following)
    assert session.done == ["threads 9", "threads by hand"]


@pytest.mark.parametrize("state", [RunState.STOPPING, RunState.ENDED])
async def test_no_move_is_made_once_the_run_is_ending(state: RunState) -> None:
    session = FakeSteered(state)
    await Steering(session).moving.follow(lambda: [TO_16])
    assert (session.done, session.told) == ([], [])


# Refusals


@pytest.mark.parametrize("threads", [0, -1, MAX_THREADS + 1, 10**9])
async def test_threads_out_of_range_are_refused_in_words(threads: int) -> None:
    session = FakeSteered()
    with pytest.raises(UsageError, match="threads must be between 1 and 100,000"):
        await Steering(session).carry_out(SetThreads(threads))
    assert (session.pace.threads, session.done, session.told) == (8, [], [])


@pytest.mark.parametrize("rate", [-0.1, MAX_RATE + 1, math.inf, math.nan])
async def test_a_rate_out_of_range_is_refused_in_words(rate: float) -> None:
    session = FakeSteered()
    with pytest.raises(UsageError, match="the rate must be between 0 and 10,000,000 a second, not"):
        await Steering(session).carry_out(SetRate(rate))
    assert (session.pace.rate, session.done, session.told) == (0.0, [], [])


@pytest.mark.parametrize("milliseconds", [-0.1, 10_000.1, math.inf, math.nan])
async def test_a_delay_out_of_range_is_refused_in_words(milliseconds: float) -> None:
    session = FakeSteered()
    with pytest.raises(UsageError, match="the client delay must be between 0 and 10000ms, not"):
        await Steering(session).carry_out(SetDelay(milliseconds))
    assert (session.done, session.told) == ([], [])


@pytest.mark.parametrize("rate", [0, 0.01, MAX_RATE])
def test_the_ends_of_the_rates_are_in_it(rate: float) -> None:
    assert checked_rate(rate) == rate


@pytest.mark.parametrize("threads", [1, MAX_THREADS])
def test_the_ends_of_the_range_are_in_it(threads: int) -> None:
    assert checked_threads(threads) == threads


@pytest.mark.parametrize("command", [CHANGE, ApplyPreset("unsafe")])
async def test_a_change_the_server_refuses_is_no_event(command: Command) -> None:
    session = FakeSteered()
    session.hand.refusal = SQLError(1227, "you need SUPER", "grant it")
    with pytest.raises(SQLError, match=r"you need SUPER \(grant it\)"):
        await Steering(session).carry_out(command)
    assert session.told == []


@pytest.mark.parametrize("command", [CHANGE, ApplyPreset("unsafe")])
async def test_a_production_server_is_changed_after_a_yes_only(command: Command) -> None:
    session = FakeSteered()
    session.gate.signs = ("2 replicas attached",)
    steering = Steering(session)
    with pytest.raises(UsageError, match="looks like a production server: 2 replicas attached"):
        await steering.carry_out(command)
    assert (session.hand.asked, session.told) == ([], [])
    assert await steering.carry_out(TrustServer()) == "it may be changed"
    assert session.told == [(EventKind.WARNING, "it may be changed")]
    await steering.carry_out(command)
    assert len(session.hand.asked) == 1


async def test_after_a_refusal_the_next_command_has_its_turn() -> None:
    session = FakeSteered()
    steering = Steering(session)
    session.hand.refusal = TuibenchError("no")
    with pytest.raises(TuibenchError):
        await steering.carry_out(CHANGE)
    assert await steering.carry_out(SetThreads(2)) == "threads: 2"


@pytest.mark.parametrize("state", [RunState.STOPPING, RunState.ENDED])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: type(command).__name__)
async def test_nothing_is_changed_once_the_run_is_ending(state: RunState, command: Command) -> None:
    session = FakeSteered(state)
    with pytest.raises(UsageError, match="the run is ending"):
        await Steering(session).carry_out(command)
    assert (session.done, session.told, session.hand.asked) == ([], [], [])


async def test_stopping_twice_is_fine() -> None:
    assert await Steering(FakeSteered(RunState.STOPPING)).carry_out(Stop()) == "stopping"


# One at a time


async def test_settings_are_changed_one_after_the_other_in_order() -> None:
    session = FakeSteered()
    session.hand.gate.clear()
    steering = Steering(session)
    changes = [asyncio.create_task(steering.carry_out(ChangeSetting("s", str(n)))) for n in range(3)]
    await asyncio.sleep(0)
    assert session.hand.asked == [("s", "0")]
    session.hand.gate.set()
    await asyncio.gather(*changes)
    assert session.hand.asked == [("s", "0"), ("s", "1"), ("s", "2")]
    assert session.hand.most_working == 1


async def test_the_load_is_steered_in_order() -> None:
    session = FakeSteered()
    session.pace.gate.clear()
    steering = Steering(session)
    steps = [asyncio.create_task(steering.carry_out(SetThreads(threads))) for threads in (40, 1)]
    steps.append(asyncio.create_task(steering.carry_out(Pause())))
    await asyncio.sleep(0)
    assert session.done == []
    session.pace.gate.set()
    await asyncio.gather(*steps)
    assert [done for done in session.done if "by hand" not in done] == ["threads 40", "threads 1", "hold"]


@pytest.mark.parametrize("command", [SetThreads(2), SetRate(9), Pause(), Mark("x"), ResetStats()])
async def test_the_load_does_not_wait_for_a_setting_that_hangs(command: Command) -> None:
    session = FakeSteered()
    session.hand.gate.clear()
    steering = Steering(session)
    hanging = asyncio.create_task(steering.carry_out(CHANGE))
    await asyncio.sleep(0)
    await steering.carry_out(command)
    assert len(session.told) == 1
    session.hand.gate.set()
    await hanging


async def test_nothing_begins_anew_before_anything_is_measured() -> None:
    for state in (RunState.STARTING, RunState.WARMING):
        session = FakeSteered(state)
        with pytest.raises(UsageError, match="nothing is measured yet"):
            await Steering(session).carry_out(ResetStats())
        assert session.done == []


async def test_a_stop_does_not_wait_for_a_change_that_hangs() -> None:
    session = FakeSteered()
    session.hand.gate.clear()
    steering = Steering(session)
    hanging = asyncio.create_task(steering.carry_out(CHANGE))
    await asyncio.sleep(0)
    assert await steering.carry_out(Stop()) == "stopping"
    session.hand.gate.set()
    await hanging


async def test_what_a_change_hangs_on_can_be_killed() -> None:
    session = FakeSteered()
    session.hand.gate.clear()
    steering = Steering(session)
    hanging = asyncio.create_task(steering.carry_out(CHANGE))
    await asyncio.sleep(0)
    assert await steering.carry_out(KillQuery(7)) == "killed 7"
    session.hand.gate.set()
    await hanging


async def test_a_kill_that_is_refused_is_no_event() -> None:
    session = FakeSteered()
    session.watch.refusal = SQLError(1095, "not yours")
    with pytest.raises(SQLError, match="not yours"):
        await Steering(session).carry_out(KillQuery(7))
    assert session.told == []


async def test_a_command_whose_turn_comes_after_the_end_is_refused() -> None:
    """It would change the server after its settings were put back."""
    session = FakeSteered()
    session.hand.gate.clear()
    steering = Steering(session)
    first = asyncio.create_task(steering.carry_out(CHANGE))
    second = asyncio.create_task(steering.carry_out(ApplyPreset("unsafe")))
    await asyncio.sleep(0)
    session.state = RunState.STOPPING
    session.hand.gate.set()
    await first
    with pytest.raises(UsageError, match="the run is ending"):
        await second
    assert session.hand.asked == [("sync_binlog", "0")]
