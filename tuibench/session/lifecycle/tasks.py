"""Background tasks of a session: a group that reports failed tasks, and that no task outlives.

In contrast to a plain TaskGroup, a failure does not cancel the owner: the session ends in an orderly way,
restores settings and writes its summary.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any

StartTask = Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]
"""Starts a task with a name."""


class BackgroundTasks(AbstractAsyncContextManager["BackgroundTasks"]):
    """`on_failure` is called with the error of each task that fails."""

    def __init__(self, on_failure: Callable[[Exception], None]) -> None:
        self._on_failure = on_failure
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "BackgroundTasks":
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
        # The error of the body, if there is one, is its own: the group would wrap it.
        await self._group.__aexit__(None, None, None)

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = self._group.create_task(self._supervised(work), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """Cancel the running tasks, and wait for their end."""
        await cancel_all(tuple(self._tasks))

    async def _supervised(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:
            self._on_failure(error)


async def cancel_all(tasks: tuple[asyncio.Task[None], ...]) -> None:
    """Cancels the tasks and waits for their end."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
