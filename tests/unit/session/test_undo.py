"""Undo: what a change was, what takes it back, and changes that are one."""

import pytest

from tests.fakes import FakeClock
from tuibench.base.clock import NS_PER_SECOND
from tuibench.base.errors import UsageError
from tuibench.model.callers import CallerPolicy
from tuibench.model.hardware import Hardware, changed_hardware
from tuibench.model.message import (
    ApplyPreset,
    ChangeSetting,
    Command,
    Mark,
    SetCallers,
    SetDelay,
    SetHardware,
    SetRate,
    SetThreads,
    SetWeights,
)
from tuibench.model.plan import changed_policy
from tuibench.model.settings import PresetState
from tuibench.session.dispatch import handler_of
from tuibench.session.undo import Levels, UndoStack


class Session:
    """A session in which every command succeeds, unless it is in `refused`."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.levels = Levels(
            threads=8,
            rate=0.0,
            weights={"read": 90.0, "write": 10.0},
            client_delay_ms=0.0,
            hardware=Hardware(),
            callers=CallerPolicy(),
            settings={"flush_log": "1", "sync_binlog": "1"},
            presets=(),
        )
        self.refused: set[str] = set()
        self.stack = UndoStack(self.clock, lambda: self.levels)

    async def execute(self, command: Command) -> str:
        values: dict[str, str] = {}
        match command:
            case SetThreads(threads=threads):
                self.levels = self.levels._replace(threads=threads)
            case SetRate(rate=rate):
                self.levels = self.levels._replace(rate=rate)
            case SetWeights(weights=weights):
                self.levels = self.levels._replace(weights={**self.levels.weights, **weights})
            case SetDelay(milliseconds=milliseconds):
                self.levels = self.levels._replace(client_delay_ms=milliseconds)
            case SetHardware(change=change):
                assert self.levels.hardware is not None
                self.levels = self.levels._replace(hardware=changed_hardware(self.levels.hardware, change))
            case SetCallers(option=option, value=value):
                self.levels = self.levels._replace(callers=changed_policy(self.levels.callers, option, value))
            case ChangeSetting(name=name, value=value):
                values = {name: value}
            case ApplyPreset(name=name):
                values = dict.fromkeys(("flush_log", "sync_binlog"), "1" if name == "durable" else "0")
        if self.refused & values.keys():
            raise UsageError("refused")
        self.levels = self.levels._replace(settings=self.levels.settings | values)
        return "done"

    async def do(self, *commands: Command, after: float = 10.0) -> None:
        for command in commands:
            self.clock.ns += int(after * NS_PER_SECOND)
            handler, before = handler_of(type(command)), self.levels
            try:
                await self.execute(command)
            finally:
                if handler.undoable:
                    self.stack.remember(type(command), before, handler.coalesces_seconds)

    async def undo(self) -> str:
        return await self.stack.undo(self.execute)


async def test_changes_are_taken_back_the_last_one_first() -> None:
    session = Session()
    before = session.levels
    await session.do(
        SetRate(400.5), SetWeights({"write": 35}), SetDelay(2.5), SetHardware("read=1ms"),
        SetHardware("fsync=2ms"),
        SetCallers("deadline", "5ms"),
        Mark("no change"), ApplyPreset("unsafe"), SetThreads(8),
    )  # fmt: skip
    assert session.stack.texts == (
        "flush_log 1 → 0, sync_binlog 1 → 0",
        "deadline 0 → 5ms",
        "disk.fsync 0ms → 2ms",
        "disk.read 0ms → 1ms",
        "network delay 0ms → 2.5ms",
        "weights 90/10 → 90/35",
        "rate none → 400.5/s",
    )
    assert await session.undo() == "undone: flush_log 1 → 0, sync_binlog 1 → 0; next: deadline 0 → 5ms"
    assert session.levels.settings == before.settings
    assert session.levels.rate == 400.5
    for _ in range(5):
        await session.undo()
    assert (await session.undo()).endswith("; nothing is left to undo")
    assert session.levels == before
    with pytest.raises(UsageError, match="nothing to undo"):
        await session.undo()


async def test_settings_that_were_a_preset_are_taken_back_as_one() -> None:
    """So the effect of taking them back can be compared, and has one number."""
    session, done = Session(), list[Command]()
    durable = PresetState(name="durable", values={"flush_log": "1", "sync_binlog": "1"}, risk="")
    session.levels = session.levels._replace(presets=(durable,))
    await session.do(ApplyPreset("unsafe"), ChangeSetting("sync_binlog", "1"))

    async def execute(command: Command) -> str:
        done.append(command)
        return await session.execute(command)

    await session.stack.undo(execute)
    await session.stack.undo(execute)
    assert done == [ChangeSetting("sync_binlog", "0"), ApplyPreset("durable")]
    assert list(session.levels.settings.values()) == ["1", "1"]


async def test_thread_changes_that_follow_each_other_are_one() -> None:
    session = Session()
    await session.do(SetThreads(9), after=50)
    await session.do(SetThreads(10), SetThreads(11), after=0.4)
    await session.do(SetThreads(64), after=60)
    assert session.stack.texts == ("threads 11 → 64", "threads 8 → 11")
    await session.undo()
    await session.undo()
    assert session.levels.threads == 8


async def test_a_refused_undo_can_be_tried_again_and_a_change_that_failed_half_is_known() -> None:
    session = Session()
    await session.do(ApplyPreset("unsafe"))
    session.refused = {"sync_binlog"}
    with pytest.raises(UsageError, match="refused"):
        await session.undo()
    assert session.stack.texts == ("flush_log 1 → 0, sync_binlog 1 → 0",)
    session.refused = set()
    await session.undo()
    assert list(session.levels.settings.values()) == ["1", "1"]
    session.refused = {"flush_log"}
    with pytest.raises(UsageError, match="refused"):
        await session.do(ChangeSetting("flush_log", "2"))
    assert not session.stack.texts
