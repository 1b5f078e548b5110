"""Waiting with a deadline: neither the deadline nor a cancellation is lost."""

import asyncio

import pytest

from tests.virtual import VirtualClock, in_no_time
from tuibench.deadline import wait_with_timeout


async def _answer(after_seconds: float) -> str:
    await asyncio.sleep(after_seconds)
    return "answer"


def test_what_comes_in_time_is_returned() -> None:
    async def scenario(_: VirtualClock) -> str:
        return await wait_with_timeout(_answer(2), 3)

    assert in_no_time(scenario) == "answer"


def test_what_comes_too_late_is_not_waited_for() -> None:
    async def scenario(clock: VirtualClock) -> float:
        with pytest.raises(TimeoutError):
            await wait_with_timeout(_answer(5), 3)
        return clock.time()

    assert in_no_time(scenario) == 3


def test_a_cancellation_that_the_work_does_not_heed_is_heeded() -> None:
    """As that of a library which waits by `wait_for`, when the answer comes in the same turn."""

    async def deaf() -> str:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            return "answer"
        return "too late"

    async def scenario(clock: VirtualClock) -> float:
        task = asyncio.create_task(wait_with_timeout(deaf(), 60))
        await clock.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return clock.time()

    assert in_no_time(scenario) == 1


def test_work_after_a_cancellation_is_done() -> None:
    """What must be tidied up is waited for, too."""

    async def tidy() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return await wait_with_timeout(_answer(2), 3)
        return "too late"

    async def scenario(clock: VirtualClock) -> str:
        task = asyncio.create_task(tidy())
        await clock.sleep(1)
        task.cancel()
        return await task

    assert in_no_time(scenario) == "answer"
