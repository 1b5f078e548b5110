"""Work beside the screen: its result, its errors, and its undoing when it is cancelled."""

import asyncio
import threading

import pytest

from tuibench.cli.commands.start.controller import run_in_thread_loop
from tuibench.errors import RunError


async def test_it_runs_in_a_thread_of_its_own() -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        return threading.current_thread().name

    assert await run_in_thread_loop(work()) == "work beside the screen"


async def test_an_error_is_raised_as_itself() -> None:
    async def work() -> None:
        raise RunError("no")

    with pytest.raises(RunError, match="no"):
        await run_in_thread_loop(work())


async def test_cancelled_it_waits_for_the_undoing() -> None:
    begun, steps = asyncio.Event(), []
    here = asyncio.get_running_loop()

    async def work() -> None:
        try:
            here.call_soon_threadsafe(begun.set)
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.001)
            steps.append("undone")

    task = asyncio.create_task(run_in_thread_loop(work()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert steps == ["undone"]
