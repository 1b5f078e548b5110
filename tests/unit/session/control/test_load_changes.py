"""What moves the load by itself takes its turn among the commands."""

import asyncio

import pytest

from tests.unit.session.fakes import FakeControllable
from tuibench.model.command import SetThreads
from tuibench.model.event import EventKind
from tuibench.model.message import RunState
from tuibench.model.schedule import ConstantStage, Quantity, Schedule
from tuibench.session.plan.timeline import LevelChange

Told = list[tuple[EventKind, str]]

PLAN: Schedule = (ConstantStage(level=8, seconds=30), ConstantStage(level=16, seconds=60))
TO_16 = LevelChange(30, Quantity.THREADS, 16, 1, "plan 2/2: 16 threads for 1m")
TO_8 = LevelChange(0, Quantity.THREADS, 8, 0, "plan 1/2: 8 threads for 30s")
ON_THE_WAY = LevelChange(31, Quantity.THREADS, 17, 1)
RAMP = LevelChange(30, Quantity.RATE, 0, 1, "plan 2/2: from no rate to 9/s in 1m", is_ramp=True)


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
async def test_a_plan_step_is_reported_once_and_marked_if_a_level_changes(
    moves: list[LevelChange], done: list[str], told: Told
) -> None:
    session = FakeControllable()
    await session.changes.follow(lambda: moves)
    assert (session.done, session.told) == (done, told)


async def test_a_plan_does_not_ask_again_for_what_the_server_refuses_but_an_operator_may() -> None:
    session = FakeControllable()
    session.load.accepted_connections = 12
    await session.changes.follow(lambda: [TO_16])
    await session.changes.follow(lambda: [ON_THE_WAY])
    assert session.done == ["threads 12"]
    await session.execute(SetThreads(20))
    assert session.load.threads == 20
    assert session.load.accepted_connections is None


async def test_which_moves_are_due_is_asked_when_their_turn_comes() -> None:
    """A change by hand may have held the plan meanwhile."""
    session = FakeControllable()
    session.load.gate.clear()
    change = asyncio.create_task(session.execute(SetThreads(9)))
    await asyncio.sleep(0)
    due = [TO_16]
    following = asyncio.create_task(session.changes.follow(lambda: due))
    await asyncio.sleep(0)
    due.clear()
    session.load.gate.set()
    await asyncio.gather(change, following)
    assert session.done == ["threads 9", "threads by hand"]


@pytest.mark.parametrize("state", [RunState.STOPPING, RunState.ENDED])
async def test_no_move_is_made_once_the_run_is_ending(state: RunState) -> None:
    session = FakeControllable(state)
    await session.changes.follow(lambda: [TO_16])
    assert (session.done, session.told) == ([], [])
