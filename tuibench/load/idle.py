"""Worker processes that outlive a load: the next one begins with processes that are there, and warm."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from tuibench.load.report import HandOver
from tuibench.load.worker_process import Worker


class Idle(AbstractAsyncContextManager["Idle"]):
    """Workers between two loads; those that are left at the end are ended."""

    def __init__(self) -> None:
        self._workers: list[Worker] = []

    async def take(self, pass_on: Callable[[HandOver], None]) -> Worker:
        """A worker for the next load: one that has ended its last, or a new process."""
        if not self._workers:
            return await Worker.start(pass_on)
        worker = self._workers.pop()
        worker.renew(pass_on)
        return worker

    async def part(self, worker: Worker) -> None:
        """Keeps a worker that has told the end of its load; ends any other, whatever it does."""
        if worker.is_heard:
            self._workers.append(worker)
        else:
            await worker.end()

    async def __aexit__(self, *_: object) -> None:
        workers, self._workers = self._workers, []
        await asyncio.gather(*(worker.end() for worker in workers))
