"""How long something is waited for, so that neither a deadline nor a cancellation is lost."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def in_time(work: Awaitable[T], seconds: float) -> T:
    """What the work returns. Raises TimeoutError if it takes longer, CancelledError if the task is cancelled.

    `asyncio.wait_for` of Python 3.11 returns the result if that comes in the same turn as the cancellation,
    and so do libraries that are built on it: a Ctrl-C would go unheard.
    """
    before = _cancellations()
    async with asyncio.timeout(seconds):
        result = await work
    if _cancellations() > before:
        raise asyncio.CancelledError
    return result


def _cancellations() -> int:
    task = asyncio.current_task()
    return task.cancelling() if task is not None else 0
