"""When the load is held back for a replica, and when it goes on."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from tuibench.errors import UsageError
from tuibench.model.command import Command, Pause, Resume
from tuibench.model.event import EventKind
from tuibench.model.measurements.sample import ReplicaSample
from tuibench.session.control.lag_guard import LagGuard, LagLimit


def behind(seconds: float | None, *, is_running: bool = True, name: str = "db2:3306") -> ReplicaSample:
    return ReplicaSample(
        name=name, lag_seconds=seconds, is_running=is_running, state="the applier is stopped"
    )


UNREAD = ReplicaSample(name="db2:3306", note="no answer")


def pauses(limit: LagLimit, *ticks: tuple[ReplicaSample, ...]) -> list[bool | None]:
    decisions = [limit.check(tick) for tick in ticks]
    return [decision.pause if decision else None for decision in decisions]


def test_it_is_held_past_the_limit_and_goes_on_at_half_of_it() -> None:
    ticks = [(behind(seconds),) for seconds in (0, 5, 6, 9, 4, 3, 2, 0)]
    assert pauses(LagLimit(5.0), *ticks) == [None, None, True, None, None, None, False, None]


def test_a_replica_that_stopped_holds_it_too() -> None:
    limit = LagLimit(5.0)
    assert pauses(limit, (behind(None, is_running=False),), (behind(0),)) == [True, False]
    decision = limit.check((behind(0), behind(None, is_running=False, name="db3:3306")))
    assert decision is not None
    assert decision.text == (
        "load paused: replica db3:3306 does not replicate: the applier is stopped (--max-lag 5.0 s)"
    )


def test_what_cannot_be_read_decides_nothing() -> None:
    assert pauses(LagLimit(5.0), (UNREAD,), (behind(9),), (UNREAD,), ()) == [None, True, None, None]


def test_all_must_have_caught_up() -> None:
    two = [
        (behind(9), behind(0, name="b")),
        (behind(0), behind(4, name="b")),
        (behind(1), behind(1, name="b")),
    ]
    assert pauses(LagLimit(5.0), *two) == [True, None, False]


async def test_decisions_are_the_operators_commands_and_a_refusal_is_reported() -> None:
    submitted: list[Command] = []
    told: list[tuple[EventKind, str]] = []
    tasks: list[asyncio.Task[None]] = []

    async def submit(command: Command) -> str:
        submitted.append(command)
        if isinstance(command, Resume):
            raise UsageError("the run is ending")
        return ""

    def start(work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        tasks.append(asyncio.create_task(work, name=name))
        return tasks[-1]

    guard = LagGuard(5.0, submit, lambda kind, text: told.append((kind, text)), start)
    guard.tick((behind(9),))
    guard.tick((behind(0),))
    await asyncio.gather(*tasks)
    assert submitted == [Pause(), Resume()]
    assert [text.partition(":")[0] for _, text in told] == [
        "load paused",
        "load resumed",
        "--max-lag",
    ]
    LagGuard(0.0, submit, lambda kind, text: None, start).tick((behind(9),))
    assert len(submitted) == 2
