"""The program's clock, absolute schedules, and waits with a timeout or a notice.

No other module calls `time.monotonic` or sleeps periodically, so that tests can use a fake clock. A program
with a user interface sets `listener`, which is called with a notice about a long wait.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import NamedTuple, Protocol, TypeVar

NS_PER_SECOND = 1_000_000_000
NS_PER_MS = 1_000_000


class Clock(Protocol):
    """A monotonic clock in nanoseconds, a wall clock in seconds (Unix time), and sleep."""

    def now_ns(self) -> int: ...

    def wall_seconds(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The system's clocks. Its methods are those of the standard library, because the load calls them for
    every statement.
    """

    now_ns = staticmethod(time.monotonic_ns)
    wall_seconds = staticmethod(time.time)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class ScheduledTick(NamedTuple):
    """One tick of a schedule."""

    number: int
    """The number of the tick from 1; 0 for an extra tick between two of them."""
    due_ns: int
    late_ns: int
    """The delay of the tick."""
    is_extra: bool = False
    """True at one of the additional times of `ticks`."""


async def ticks(
    clock: Clock,
    start_ns: int,
    interval_ns: int,
    end_ns: int | None = None,
    between: Sequence[int] = (),
) -> AsyncIterator[ScheduledTick]:
    """Ticks at `start_ns` + n × `interval_ns` until `end_ns`, and at the additional times `between`.

    A tick at an additional time is yielded once. The schedule is absolute: a slow caller
    delays a tick, but not the following ones. Missed ticks are skipped: a caller that is five intervals late
    gets one late tick.
    """
    number = 1
    waiting = sorted(between, reverse=True)
    while end_ns is None or start_ns + number * interval_ns <= end_ns:
        due_ns = start_ns + number * interval_ns
        while waiting and waiting[-1] < due_ns:
            yield await _wait_for_tick(clock, 0, waiting.pop(), is_extra=True)
        is_extra = bool(waiting) and waiting[-1] == due_ns
        while waiting and waiting[-1] == due_ns:
            waiting.pop()
        yield await _wait_for_tick(clock, number, due_ns, is_extra=is_extra)
        number = max(number + 1, (clock.now_ns() - start_ns) // interval_ns)
    while waiting and waiting[-1] <= end_ns:
        yield await _wait_for_tick(clock, 0, waiting.pop(), is_extra=True)
    await _sleep_until(clock, end_ns)


async def _wait_for_tick(clock: Clock, number: int, due_ns: int, *, is_extra: bool) -> ScheduledTick:
    await _sleep_until(clock, due_ns)
    return ScheduledTick(number, due_ns, max(0, clock.now_ns() - due_ns), is_extra)


async def _sleep_until(clock: Clock, due_ns: int) -> None:
    wait_ns = due_ns - clock.now_ns()
    if wait_ns > 0:
        await clock.sleep(wait_ns / NS_PER_SECOND)


T = TypeVar("T")

NOTICE_SECONDS = 1.0
"""The duration of a wait after which the listener is notified."""

Report = Callable[[str], None]
listener: ContextVar[Report | None] = ContextVar("listener", default=None)


async def wait_with_timeout(work: Awaitable[T], seconds: float) -> T:
    """Return the result of the work. Raises TimeoutError after `seconds`, CancelledError if cancelled.

    `asyncio.wait_for` of Python 3.11 ignores a cancellation in the iteration of the event loop in which the
    result arrives. Here it is raised, so that Ctrl-C is never lost.
    """
    before = _cancellations()
    async with asyncio.timeout(seconds):
        result = await work
    if _cancellations() > before:
        raise asyncio.CancelledError
    return result


async def with_notice(work: Awaitable[T], notice: Callable[[], Awaitable[str]]) -> T:
    """Return the result of the work. After a long wait, the listener gets the notice, unless it is empty."""
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
