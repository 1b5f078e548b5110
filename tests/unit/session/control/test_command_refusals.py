"""Commands to a session that are refused: in words, and without an event."""

import math

import pytest

from tests.unit.session.fakes import FakeControllable
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
)
from tuibench.model.event import EventKind
from tuibench.model.message import RunState
from tuibench.model.schedule import (
    MAX_RATE,
    MAX_THREADS,
    ConstantStage,
    Schedule,
    checked_rate,
    checked_threads,
)

PLAN: Schedule = (ConstantStage(level=8, seconds=30), ConstantStage(level=16, seconds=60))
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


@pytest.mark.parametrize("threads", [0, -1, MAX_THREADS + 1, 10**9])
async def test_threads_out_of_range_are_refused_in_words(threads: int) -> None:
    session = FakeControllable()
    with pytest.raises(UsageError, match="threads must be between 1 and 100,000"):
        await session.execute(SetThreads(threads))
    assert (session.load.threads, session.done, session.told) == (8, [], [])


@pytest.mark.parametrize("rate", [-0.1, MAX_RATE + 1, math.inf, math.nan])
async def test_a_rate_out_of_range_is_refused_in_words(rate: float) -> None:
    session = FakeControllable()
    with pytest.raises(UsageError, match="the rate must be between 0 and 10,000,000 per second, not"):
        await session.execute(SetRate(rate))
    assert (session.load.rate, session.done, session.told) == (0.0, [], [])


@pytest.mark.parametrize("milliseconds", [-0.1, 10_000.1, math.inf, math.nan])
async def test_a_delay_out_of_range_is_refused_in_words(milliseconds: float) -> None:
    session = FakeControllable()
    with pytest.raises(UsageError, match="the client delay must be between 0 and 10000ms, not"):
        await session.execute(SetDelay(milliseconds))
    assert (session.done, session.told) == ([], [])


@pytest.mark.parametrize("rate", [0, 0.01, MAX_RATE])
def test_the_ends_of_the_rates_are_in_it(rate: float) -> None:
    assert checked_rate(rate) == rate


@pytest.mark.parametrize("threads", [1, MAX_THREADS])
def test_the_ends_of_the_range_are_in_it(threads: int) -> None:
    assert checked_threads(threads) == threads


@pytest.mark.parametrize("command", [CHANGE, ApplyPreset("unsafe")])
async def test_a_change_the_server_refuses_is_no_event(command: Command) -> None:
    session = FakeControllable()
    session.manager.refusal = SQLError(1227, "you need SUPER", "grant it")
    with pytest.raises(SQLError, match=r"you need SUPER \(grant it\)"):
        await session.execute(command)
    assert session.told == []


@pytest.mark.parametrize("command", [CHANGE, ApplyPreset("unsafe")])
async def test_a_production_server_is_changed_after_a_yes_only(command: Command) -> None:
    session = FakeControllable()
    session.guard.signs = ("2 replicas attached",)
    with pytest.raises(UsageError, match="looks like a production server: 2 replicas attached"):
        await session.execute(command)
    assert (session.manager.asked, session.told) == ([], [])
    assert await session.execute(TrustServer()) == "it may be changed"
    assert session.told == [(EventKind.WARNING, "it may be changed")]
    await session.execute(command)
    assert len(session.manager.asked) == 1


async def test_after_a_refusal_the_next_command_has_its_turn() -> None:
    session = FakeControllable()
    session.manager.refusal = TuibenchError("no")
    with pytest.raises(TuibenchError):
        await session.execute(CHANGE)
    assert await session.execute(SetThreads(2)) == "threads: 2"


@pytest.mark.parametrize("state", [RunState.STOPPING, RunState.ENDED])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: type(command).__name__)
async def test_nothing_is_changed_once_the_run_is_ending(state: RunState, command: Command) -> None:
    session = FakeControllable(state)
    with pytest.raises(UsageError, match="the run is ending"):
        await session.execute(command)
    assert (session.done, session.told, session.manager.asked) == ([], [], [])


async def test_stopping_twice_is_fine() -> None:
    assert await FakeControllable(RunState.STOPPING).execute(Stop()) == "stopping"
