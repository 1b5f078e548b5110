"""What each command to a session does, and what is answered."""

import pytest

from tests.unit.session.fakes import FakeControllable
from tuibench.errors import UsageError
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
    WatchActivity,
)
from tuibench.model.event import EventKind
from tuibench.model.message import RunState
from tuibench.model.schedule import ConstantStage, Schedule

Told = list[tuple[EventKind, str]]

PLAN: Schedule = (ConstantStage(level=8, seconds=30), ConstantStage(level=16, seconds=60))
CHANGE = ChangeSetting("sync_binlog", "0")


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
        (CHANGE, "sync_binlog  → 0", [], [(EventKind.SETTING, "sync_binlog  → 0")]),
        (
            ApplyPreset("unsafe"),
            "preset unsafe: s ? → 0, t ? → 1",
            [],
            [(EventKind.SETTING, "preset unsafe: s ? → 0, t ? → 1")],
        ),
        (RestoreSettings(), "nothing was changed, so there is nothing to restore", [], []),
        (Pause(), "paused", ["pause", "pause plan"], [(EventKind.PAUSE, "paused")]),
        (Resume(), "not paused", [], []),
        (Mark("here"), "marked", [], [(EventKind.MARK, "here")]),
        (Mark(), "marked", [], [(EventKind.MARK, "mark")]),
        (
            ResetStats(),
            "the figures of the run are reset",
            ["reset"],
            [(EventKind.RESET, "figures of the run are reset")],
        ),
        (KillQuery(7), "killed 7", ["kill 7"], [(EventKind.KILL, "killed 7")]),
        (WatchActivity(), "watching", ["renew"], []),
        (Stop(), "stopping", [], []),
    ],
)
async def test_each_command_has_its_effect_its_event_and_its_answer(
    command: Command, answer: str, done: list[str], told: Told
) -> None:
    session = FakeControllable()
    assert await session.execute(command) == answer
    assert (session.done, session.told) == (done, told)


async def test_a_pause_ends_with_resume_and_is_not_doubled() -> None:
    session = FakeControllable()
    answers = [await session.execute(command) for command in (Pause(), Pause(), Resume(), Resume())]
    assert answers == ["paused", "already paused", "resumed", "not paused"]
    assert session.done == ["pause", "pause plan", "resume", "unpause plan"]
    assert [kind for kind, _ in session.told] == [EventKind.PAUSE, EventKind.RESUME]


async def test_threads_change_while_paused() -> None:
    session = FakeControllable(RunState.PAUSED)
    assert await session.execute(SetThreads(3)) == "threads: 3"
    assert session.state is RunState.PAUSED


async def test_a_rate_is_taken_off_again() -> None:
    session = FakeControllable()
    answers = [await session.execute(SetRate(rate)) for rate in (200, 300, 0)]
    assert answers == ["rate: 200/s", "rate: 300/s", "rate: open"]
    assert [done for done in session.done if done != "rate by hand"] == ["rate 200", "rate 300", "rate 0"]
    assert [text for _, text in session.told][1:] == ["rate 200/s → 300/s", "rate 300/s → open"]


async def test_a_load_that_has_not_started_cannot_be_paused() -> None:
    session = FakeControllable(RunState.STARTING)
    with pytest.raises(UsageError, match="has not started yet"):
        await session.execute(Pause())
    assert session.done == []


async def test_a_warm_up_cannot_be_paused_but_steered() -> None:
    session = FakeControllable(RunState.WARMING)
    with pytest.raises(UsageError, match="still warming up"):
        await session.execute(Pause())
    assert await session.execute(Resume()) == "not paused"
    assert await session.execute(SetRate(3)) == "rate: 3/s"
    assert await session.execute(SetThreads(3)) == "threads: 3"
    assert session.state is RunState.WARMING


async def test_what_was_changed_is_restored_and_reported() -> None:
    session = FakeControllable()
    session.manager.changed = {"sync_binlog", "long_query_time"}
    reply = await session.execute(RestoreSettings(("sync_binlog", "long_query_time")))
    assert reply == "long_query_time is back; sync_binlog is back"
    assert session.told == [(EventKind.SETTING, reply)]
    assert session.manager.asked == [("long_query_time", "sync_binlog")]


async def test_a_stop_ends_the_session() -> None:
    session = FakeControllable()
    await session.execute(Stop())
    assert (session.lifecycle.over.is_set(), session.lifecycle.outcome) == (True, "stopped")


async def test_a_session_without_load_refuses_what_would_change_it() -> None:
    session = FakeControllable()
    with pytest.raises(UsageError, match="has no load to change"):
        await session.session_commands.execute(SetThreads(3))
