"""Commands to a session take turns, and some wait for nobody."""

import asyncio

import pytest

from tests.unit.session.fakes import FakeControllable
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

CHANGE = ChangeSetting("sync_binlog", "0")


async def test_settings_are_changed_one_after_the_other_in_order() -> None:
    session = FakeControllable()
    session.manager.gate.clear()
    changes = [asyncio.create_task(session.execute(ChangeSetting("s", str(n)))) for n in range(3)]
    await asyncio.sleep(0)
    assert session.manager.asked == [("s", "0")]
    session.manager.gate.set()
    await asyncio.gather(*changes)
    assert session.manager.asked == [("s", "0"), ("s", "1"), ("s", "2")]
    assert session.manager.most_working == 1


async def test_the_load_is_steered_in_order() -> None:
    session = FakeControllable()
    session.load.gate.clear()
    steps = [asyncio.create_task(session.execute(SetThreads(threads))) for threads in (40, 1)]
    steps.append(asyncio.create_task(session.execute(Pause())))
    await asyncio.sleep(0)
    assert session.done == []
    session.load.gate.set()
    await asyncio.gather(*steps)
    done = [word for word in session.done if "by hand" not in word]
    assert done == ["threads 40", "threads 1", "pause", "pause plan"]


@pytest.mark.parametrize("command", [SetThreads(2), SetRate(9), Pause(), Mark("x"), ResetStats()])
async def test_the_load_does_not_wait_for_a_setting_that_hangs(command: Command) -> None:
    session = FakeControllable()
    session.manager.gate.clear()
    hanging = asyncio.create_task(session.execute(CHANGE))
    await asyncio.sleep(0)
    await session.execute(command)
    assert len(session.told) == 1
    session.manager.gate.set()
    await hanging


async def test_a_reset_is_refused_before_anything_is_measured() -> None:
    for state in (RunState.STARTING, RunState.WARMING):
        session = FakeControllable(state)
        with pytest.raises(UsageError, match="nothing has been measured yet"):
            await session.execute(ResetStats())
        assert session.done == []


async def test_a_stop_does_not_wait_for_a_change_that_hangs() -> None:
    session = FakeControllable()
    session.manager.gate.clear()
    hanging = asyncio.create_task(session.execute(CHANGE))
    await asyncio.sleep(0)
    assert await session.execute(Stop()) == "stopping"
    session.manager.gate.set()
    await hanging


async def test_what_a_change_hangs_on_can_be_killed() -> None:
    session = FakeControllable()
    session.manager.gate.clear()
    hanging = asyncio.create_task(session.execute(CHANGE))
    await asyncio.sleep(0)
    assert await session.execute(KillQuery(7)) == "killed 7"
    session.manager.gate.set()
    await hanging


async def test_a_kill_that_is_refused_is_no_event() -> None:
    session = FakeControllable()
    session.activity_monitor.refusal = SQLError(1095, "not yours")
    with pytest.raises(SQLError, match="not yours"):
        await session.execute(KillQuery(7))
    assert session.told == []


async def test_a_command_whose_turn_comes_after_the_end_is_refused() -> None:
    """It would change the server after its settings were put back."""
    session = FakeControllable()
    session.manager.gate.clear()
    first = asyncio.create_task(session.execute(CHANGE))
    second = asyncio.create_task(session.execute(ApplyPreset("unsafe")))
    await asyncio.sleep(0)
    session.lifecycle.state = RunState.STOPPING
    session.manager.gate.set()
    await first
    with pytest.raises(UsageError, match="the run is ending"):
        await second
    assert session.manager.asked == [("sync_binlog", "0")]
