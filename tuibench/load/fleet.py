"""The session's side of the workers: starts them, hands out connections, gathers their reports."""

import asyncio
import contextlib
import socket
import sys

import msgspec

from tuibench.errors import RunError
from tuibench.load.report import WorkerReport
from tuibench.load.wire import Begin, Channel, Finish, Pause, Report, Resume, SessionEnd, SetConnections
from tuibench.model.plan import Plan
from tuibench.model.target import Target
from tuibench.workload.program import Program

LAST_REPORT_SECONDS = 5.0


def share(total: int, worker: int, workers: int) -> int:
    """How many of `total` connections belong to a worker, if connection i belongs to worker i mod workers."""
    return (total - worker + workers - 1) // workers if total > worker else 0


class Worker:
    """One worker process and the line to it."""

    def __init__(self, process: asyncio.subprocess.Process, channel: SessionEnd) -> None:
        self.process = process
        self.channel = channel
        self.last: WorkerReport | None = None

    @classmethod
    async def start(cls) -> "Worker":
        ours, theirs = socket.socketpair()
        with theirs:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tuibench.load.worker",
                str(theirs.fileno()),
                pass_fds=(theirs.fileno(),),
                stdin=asyncio.subprocess.DEVNULL,
            )
        return cls(process, await Channel.over(ours, WorkerReport))

    async def report(self) -> WorkerReport:
        """The next report. Raises RunError when the worker is gone."""
        report = await self.channel.receive()
        if report is None:
            raise RunError(
                f"worker process {self.process.pid} ended unexpectedly",
                "look for a kernel out-of-memory message, and start again",
            )
        self.last = report
        return report


class Fleet:
    """All workers of a run."""

    def __init__(self, workers: list[Worker]) -> None:
        self._workers = workers

    @classmethod
    async def start(cls, count: int, plan: Plan, target: Target, program: Program) -> "Fleet":
        """Starts the processes; they wait without a connection until `set_threads`."""
        workers = list(await asyncio.gather(*(Worker.start() for _ in range(count))))
        for number, worker in enumerate(workers):
            worker.channel.send(
                Begin(
                    worker=number,
                    workers=count,
                    target=target,
                    program=program,
                    seed=plan.seed,
                    ignored_errors=plan.ignored_errors,
                    max_retries=plan.max_retries,
                )
            )
        return cls(workers)

    def __len__(self) -> int:
        return len(self._workers)

    @property
    def pids(self) -> list[int]:
        return [worker.process.pid for worker in self._workers]

    def set_threads(self, threads: int) -> None:
        """Spreads the connections over the workers."""
        for number, worker in enumerate(self._workers):
            worker.channel.send(SetConnections(share(threads, number, len(self._workers))))

    def pause(self) -> None:
        self._tell(Pause())

    def resume(self) -> None:
        self._tell(Resume())

    async def report(self) -> list[WorkerReport]:
        """One report of every worker. Raises RunError when one is gone, after all others have answered."""
        self._tell(Report())
        answers = await asyncio.gather(*(worker.report() for worker in self._workers), return_exceptions=True)
        reports = []
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            reports.append(answer)
        return reports

    async def finish(self, grace_seconds: float) -> list[WorkerReport]:
        """Ends the load; the last reports of those workers that answer in time. `kill` comes after it."""
        self._tell(Finish(grace_seconds))
        answers = await asyncio.gather(
            *(
                asyncio.wait_for(worker.report(), grace_seconds + LAST_REPORT_SECONDS)
                for worker in self._workers
            ),
            return_exceptions=True,
        )
        return [answer for answer in answers if isinstance(answer, WorkerReport)]

    async def kill(self) -> None:
        """Ends the processes, whatever they do; those that have finished end by themselves."""
        for worker in self._workers:
            await worker.channel.close()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(worker.process.wait(), 1)
            if worker.process.returncode is None:
                worker.process.kill()
                await worker.process.wait()

    def _tell(self, message: msgspec.Struct) -> None:
        for worker in self._workers:
            worker.channel.send(message)
