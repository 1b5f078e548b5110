"""Pool of idle worker processes, reused by the next load without start-up time."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from tuibench.load.worker_report import Reassign
from tuibench.load.workers.worker_process import WorkerProcess


class WorkerPool(AbstractAsyncContextManager["WorkerPool"]):
    """Idle workers between loads; the remaining ones are ended at the end."""

    def __init__(self) -> None:
        self._workers: list[WorkerProcess] = []

    async def acquire(self, forward: Callable[[Reassign], None]) -> WorkerProcess:
        """A worker for the next load: an idle one, or a new process."""
        if not self._workers:
            return await WorkerProcess.start(forward)
        worker = self._workers.pop()
        worker.reset(forward)
        return worker

    async def release(self, worker: WorkerProcess) -> None:
        """Keeps a worker that has reported the end of its load; ends any other."""
        if worker.has_reported:
            self._workers.append(worker)
        else:
            await worker.end()

    async def __aexit__(self, *_: object) -> None:
        workers, self._workers = self._workers, []
        await asyncio.gather(*(worker.end() for worker in workers))
