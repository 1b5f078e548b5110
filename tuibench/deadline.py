"""Timeouts that lose neither a deadline nor a cancellation, and notices of long waits.

A program with a user interface sets `listener`, which is called with the notice of a long wait.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TypeVar

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
