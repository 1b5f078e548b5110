"""Time as an argument: the clock every schedule reads, and the absolute schedule itself.

Nothing else in the package calls `time.monotonic` or sleeps to keep a rhythm, so tests run on a fake clock.
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
    """The machine's own clocks, without a call in between: they are read for every statement."""

    now_ns = staticmethod(time.monotonic_ns)
    wall_seconds = staticmethod(time.time)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Tick(NamedTuple):
    """One beat of a schedule: its number from 1, when it was due, and how late it came.

    Number 0 is one of the times between the beats that were asked for.
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
) -> AsyncIterator[Tick]:
    """Beats at start + n × interval up to `end_ns`, whatever the caller does in between; ends at `end_ns`.

    The times `between` come too, in their place, before a beat at the same time.

    The schedule is absolute: a slow caller makes a late tick, never a drift. Beats that were missed
    entirely are skipped, so a caller that slept through five of them gets one late tick and no burst.
    """
    number = 1
    waiting = sorted(between, reverse=True)
    while end_ns is None or start_ns + number * interval_ns <= end_ns:
        due_ns = start_ns + number * interval_ns
        while waiting and waiting[-1] <= due_ns:
            yield await _beat(clock, 0, waiting.pop())
        yield await _beat(clock, number, due_ns)
        number = max(number + 1, (clock.now_ns() - start_ns) // interval_ns)
    while waiting and waiting[-1] <= end_ns:
        yield await _beat(clock, 0, waiting.pop())
    await _sleep_until(clock, end_ns)


async def _beat(clock: Clock, number: int, due_ns: int) -> Tick:
    await _sleep_until(clock, due_ns)
    return Tick(number, due_ns, max(0, clock.now_ns() - due_ns))


async def _sleep_until(clock: Clock, due_ns: int) -> None:
    wait_ns = due_ns - clock.now_ns()
    if wait_ns > 0:
        await clock.sleep(wait_ns / NS_PER_SECOND)
