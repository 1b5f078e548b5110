"""Clocks and absolute schedules.

No other module calls `time.monotonic` or sleeps periodically, so that tests can use a fake clock.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol

NS_PER_SECOND = 1_000_000_000
NS_PER_MS = 1_000_000


class Clock(Protocol):
    """A monotonic clock in nanoseconds, the wall clock in seconds, and a way to wait."""

    def now_ns(self) -> int: ...

    def wall_seconds(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The system's clocks, without an intermediate call: the load reads them for every statement."""

    now_ns = staticmethod(time.monotonic_ns)
    wall_seconds = staticmethod(time.time)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class ScheduledTick(NamedTuple):
    """One tick of a schedule: its number from 1, its due time and its delay.

    Number 0 is one of the additional times `between` ticks.
    """

    number: int
    due_ns: int
    late_ns: int


async def ticks(
    clock: Clock,
    start_ns: int,
    interval_ns: int,
    end_ns: int | None = None,
    between: Sequence[int] = (),
) -> AsyncIterator[ScheduledTick]:
    """Ticks at start + n × interval until `end_ns`.

    The times `between` are yielded, too, before a tick at the same time.

    The schedule is absolute: a slow caller causes a late tick, not a drift. Ticks that were missed
    completely are skipped: a caller that was five intervals late gets one late tick.
    """
    number = 1
    waiting = sorted(between, reverse=True)
    while end_ns is None or start_ns + number * interval_ns <= end_ns:
        due_ns = start_ns + number * interval_ns
        while waiting and waiting[-1] <= due_ns:
            yield await _wait_for_tick(clock, 0, waiting.pop())
        yield await _wait_for_tick(clock, number, due_ns)
        number = max(number + 1, (clock.now_ns() - start_ns) // interval_ns)
    while waiting and waiting[-1] <= end_ns:
        yield await _wait_for_tick(clock, 0, waiting.pop())
    await _sleep_until(clock, end_ns)


async def _wait_for_tick(clock: Clock, number: int, due_ns: int) -> ScheduledTick:
    await _sleep_until(clock, due_ns)
    return ScheduledTick(number, due_ns, max(0, clock.now_ns() - due_ns))


async def _sleep_until(clock: Clock, due_ns: int) -> None:
    wait_ns = due_ns - clock.now_ns()
    if wait_ns > 0:
        await clock.sleep(wait_ns / NS_PER_SECOND)
