"""Commands to a session take turns, and some wait for nobody."""

import asyncio

import pytest

from tests.unit.session.fakes import FakeSteered
from tuibench.errors import SQLError, UsageError
from tuibench.model.command import (
    ApplyPreset,
    ChangeSetting,
    Command,
    KillQuery,
    Mark,
    Pause,
    ResetStats,
    SetRate,
    SetThreads,
    Stop,
)
from tuibench.model.message import RunState
from tuibench.session.steering import Steering

CHANGE = ChangeSetting("sync_binlog", "0")


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
