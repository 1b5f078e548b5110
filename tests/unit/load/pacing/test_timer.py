"""Both kinds of alarm ring once, not before their time, and not after they were taken back."""

import asyncio
import time
from collections.abc import Callable

import pytest

from tuibench.load.pacing.timer import HAS_TIMERFD, LoopTimer, Timer, TimerFd, system_timer

MS = 1_000_000
PATIENCE_SECONDS = 30.0

Make = Callable[[Callable[[], None]], Timer]

KINDS = [
    LoopTimer,
    pytest.param(
        TimerFd,
        marks=pytest.mark.skipif(not HAS_TIMERFD, reason="timer descriptors are Linux's"),
    ),
]


class Ringing:
    """An alarm, and when it rang."""

    def __init__(self, make: Make) -> None:
        self.rang_ns: list[int] = []
        self._rang = asyncio.Event()
        self.timer = make(self._ring)

    def _ring(self) -> None:
        self.rang_ns.append(time.monotonic_ns())
        self._rang.set()

    async def next(self) -> int:
        await asyncio.wait_for(self._rang.wait(), PATIENCE_SECONDS)
        self._rang.clear()
        return self.rang_ns[-1]


@pytest.mark.parametrize("make", KINDS)
async def test_it_rings_once_and_not_before_its_time(make: Make) -> None:
    ringing = Ringing(make)
    for wait_ms in (3, 0, 1):
        at_ns = time.monotonic_ns() + wait_ms * MS
        ringing.timer.set(at_ns)
        # The loop's own timer may come up to its clock's resolution early.
        assert await ringing.next() >= at_ns - 1000
    await nothing_for(5 * MS)
    assert len(ringing.rang_ns) == 3
    ringing.timer.close()


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("past_ns", [-5, 0, 1])
async def test_a_time_that_is_past_rings_at_once(make: Make, past_ns: int) -> None:
    ringing = Ringing(make)
    ringing.timer.set(past_ns)
    await ringing.next()
    ringing.timer.close()


@pytest.mark.parametrize("make", KINDS)
async def test_a_new_time_takes_the_place_of_the_old_one(make: Make) -> None:
    ringing = Ringing(make)
    now_ns = time.monotonic_ns()
    ringing.timer.set(now_ns + 2 * MS)
    ringing.timer.set(now_ns + 3600 * 1000 * MS)
    ringing.timer.set(now_ns + 6 * MS)
    assert await ringing.next() >= now_ns + 6 * MS - 1000
    assert len(ringing.rang_ns) == 1
    ringing.timer.close()


@pytest.mark.parametrize("make", KINDS)
async def test_taken_back_it_does_not_ring(make: Make) -> None:
    ringing = Ringing(make)
    ringing.timer.set(time.monotonic_ns() + 2 * MS)
    ringing.timer.set(None)
    await nothing_for(6 * MS)
    ringing.timer.set(time.monotonic_ns() + 2 * MS)
    ringing.timer.close()
    await nothing_for(6 * MS)
    assert ringing.rang_ns == []


async def nothing_for(ns: int) -> None:
    """Waits until another alarm rings."""
    other = Ringing(LoopTimer)
    other.timer.set(time.monotonic_ns() + ns)
    await other.next()


async def test_the_system_has_the_best_there_is() -> None:
    timer = system_timer(lambda: None)
    assert isinstance(timer, TimerFd) is HAS_TIMERFD
    timer.close()
