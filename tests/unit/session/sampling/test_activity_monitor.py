"""The server's sessions are looked at as long as somebody wants to see them, and no longer."""

import asyncio
from typing import cast

import pytest

from tests.fakes import FakeClock
from tuibench.errors import DeniedError, SQLError
from tuibench.model.measurements.activity import Activity
from tuibench.observe.activity.sampler import ActivitySampler
from tuibench.session.sampling.activity_monitor import LEASE_SECONDS, ActivityMonitor, kill_error

ACTIVITY = Activity(sessions=(), others=0, own=())


class FakeSampler:
    """Notes what it is asked; while `gate` is closed a look does not end."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.statements = 7
        self.gate = asyncio.Event()
        self.gate.set()
        self.refusal: SQLError | None = None

    async def look(self, own_ids: set[int]) -> Activity | None:
        self.done.append(f"look {sorted(own_ids)}")
        await self.gate.wait()
        return ACTIVITY

    async def kill(self, id: int) -> None:
        self.done.append(f"kill {id}")
        if self.refusal:
            raise self.refusal

    async def close(self) -> None:
        self.done.append("close")


class Watched:
    """What a test needs of a watching, a second a tick."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.sampler = FakeSampler()
        self.published: list[Activity] = []
        self.watching = ActivityMonitor(
            cast(ActivitySampler, self.sampler),
            self._ids,
            self.published.append,
            self.clock,
            1.0,
            self._spare,
            lambda work, name: asyncio.create_task(work, name=name),
        )

    async def _ids(self) -> set[int]:
        return {1, 2}

    async def _spare(self, id: int) -> None:
        self.sampler.done.append(f"spare {id}")

    async def tick(self, seconds: float = 1.0) -> None:
        self.clock.advance(seconds)
        self.watching.tick()
        await self.settle()

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.fixture
def watched() -> Watched:
    return Watched()


async def test_without_viewers_nothing_is_queried(watched: Watched) -> None:
    for _ in range(20):
        await watched.tick()
    assert watched.sampler.done == []


async def test_the_first_look_comes_at_once_and_then_one_a_tick(watched: Watched) -> None:
    watched.watching.renew()
    await watched.settle()
    assert watched.sampler.done == ["look [1, 2]"]
    await watched.tick()
    watched.watching.renew()
    await watched.settle()
    assert len(watched.published) == 2


async def test_the_sampler_disconnects_when_its_lease_expires(watched: Watched) -> None:
    watched.watching.renew()
    await watched.tick(LEASE_SECONDS - 0.5)
    assert "close" not in watched.sampler.done
    await watched.tick()
    await watched.tick()
    await watched.tick()
    assert watched.sampler.done.count("close") == 1
    assert watched.sampler.done[-1] == "close"


async def test_a_slow_look_is_not_doubled(watched: Watched) -> None:
    watched.sampler.gate.clear()
    watched.watching.renew()
    for _ in range(3):
        await watched.tick()
    assert len(watched.sampler.done) == 1
    watched.sampler.gate.set()
    await watched.settle()
    assert len(watched.published) == 1


async def test_after_a_kill_without_a_viewer_it_leaves(watched: Watched) -> None:
    assert await watched.watching.kill(9) == "connection 9 was asked to end its query"
    await watched.tick()
    assert watched.sampler.done == ["spare 9", "kill 9", "close"]


async def test_closing_ends_a_look_that_is_out(watched: Watched) -> None:
    watched.sampler.gate.clear()
    watched.watching.renew()
    await watched.settle()
    await watched.watching.close()
    assert (watched.sampler.done[-1], watched.published) == ("close", [])


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (SQLError(1094, "x"), r"connection 9 no longer exists \(error 1094\)"),
        (SQLError(1095, "x"), r"connection 9 belongs to another user \(error 1095\) \(KILL needs"),
        (DeniedError(1227, "x"), r"this login has no privilege to end queries \(error 1227\) \(KILL needs"),
        (SQLError(1317, "odd"), "odd"),
    ],
)
async def test_refusals_in_words(watched: Watched, error: SQLError, words: str) -> None:
    watched.sampler.refusal = error
    with pytest.raises(SQLError, match=words):
        await watched.watching.kill(9)
    assert kill_error(error, 9).code == error.code
