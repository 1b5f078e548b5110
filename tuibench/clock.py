"""Clocks of the program, real and simulated; absolute schedules; deadlines.

No other module calls `time.monotonic` or sleeps periodically, so that tests can use a fake clock. Timeouts
lose neither a deadline nor a cancellation. A program with a user interface sets `listener`, which is called
with the notice of a long wait.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import NamedTuple, Protocol, TypeVar

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


T = TypeVar("T")

NOTICE_SECONDS = 2.0
"""Waits longer than this are reported."""

Report = Callable[[str], None]
listener: ContextVar[Report | None] = ContextVar("listener", default=None)


async def wait_with_timeout(work: Awaitable[T], seconds: float) -> T:
    """Return the result of the work.

    Raises TimeoutError after the timeout, CancelledError if the task is cancelled.

    `asyncio.wait_for` of Python 3.11, and libraries that use it, return the result if it arrives in the same
    iteration of the event loop as the cancellation: a Ctrl-C would be ignored.
    """
    before = _cancellations()
    async with asyncio.timeout(seconds):
        result = await work
    if _cancellations() > before:
        raise asyncio.CancelledError
    return result


async def with_notice(work: Awaitable[T], notice: Callable[[], Awaitable[str]]) -> T:
    """Return the result of the work; a long wait is reported to the listener unless the notice is empty."""
    reporting = asyncio.create_task(_report_after_delay(notice), name="notice of a long wait")
    try:
        return await work
    finally:
        reporting.cancel()


async def _report_after_delay(notice: Callable[[], Awaitable[str]]) -> None:
    await asyncio.sleep(NOTICE_SECONDS)
    text = await notice()
    if text and (report := listener.get()) is not None:
        report(text)


def _cancellations() -> int:
    task = asyncio.current_task()
    return task.cancelling() if task is not None else 0
