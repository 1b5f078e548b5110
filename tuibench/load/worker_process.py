"""One worker process as the session has it: started, asked, heard in time or not, ended."""

import asyncio
import contextlib
import socket
import sys
from collections.abc import Callable
from typing import assert_never

from tuibench.deadline import in_time
from tuibench.errors import RunError
from tuibench.load.report import Finished, HandOver, WorkerReport
from tuibench.load.wire import (
    AskConnections,
    Begin,
    Channel,
    Connections,
    FromWorker,
    Report,
    SessionEnd,
    StartOver,
)

CONNECTIONS_SECONDS = 1.0
REPORT_SECONDS = 3.0
"""How long a round of reports waits for a worker. After that the round goes on without it: its counters are
cumulative, so its next report makes up for it. A worker that is silent already is not waited for again."""


class Worker:
    """One worker process and the line to it.

    `finished` is set when it has nothing left to start, `is_silent` while it owes a report too long,
    `is_heard` once it has reported its end. `pass_on` is given what it cannot do itself.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        channel: SessionEnd,
        pass_on: Callable[[HandOver], None] = lambda _: None,
    ) -> None:
        self.process = process
        self.channel = channel
        self.finished = asyncio.Event()
        self.renew(pass_on)
        self._reports: asyncio.Queue[WorkerReport | None] = asyncio.Queue()
        self._connections: asyncio.Queue[tuple[int, ...]] = asyncio.Queue()
        self._reading = asyncio.create_task(self._read(), name=f"worker {process.pid}")

    def renew(self, pass_on: Callable[[HandOver], None]) -> None:
        """Before its first load, and between two: it owes nothing, and nothing is known of it."""
        self.finished.clear()
        self._allowances = 0
        self._pass_on = pass_on
        self.is_silent = False
        self.is_heard = False
        self._is_asked = False
        self._checkpoint = False

    @classmethod
    async def start(cls, pass_on: Callable[[HandOver], None] = lambda _: None) -> "Worker":
        """Starts a process in a session of its own, out of reach of the terminal's Ctrl-C.

        Raises RunError where the system gives no process, or no more open files.
        """
        try:
            process, line = await _spawned()
            return cls(process, await Channel.over(line, FromWorker), pass_on)
        except OSError as error:
            raise RunError(
                f"cannot start a worker process: {error.strerror or error}",
                "what may this account have? ulimit -u tells for processes, ulimit -n for open files",
            ) from error

    def allow(self, message: Begin | StartOver | HandOver) -> None:
        """Gives it something to start; until it has told that all of that is done, it has not finished."""
        self._allowances += 1
        self.finished.clear()
        self.channel.send(message)

    def ask(self, *, checkpoint: bool) -> None:
        """Asks for a report, unless one is owed; a checkpoint is made up for with the next one asked for."""
        self._checkpoint = self._checkpoint or checkpoint
        if not self._is_asked:
            self.channel.send(Report(self._checkpoint))
            self._is_asked, self._checkpoint = True, False

    async def report_in_time(self) -> WorkerReport | None:
        """The report asked for, None without one in time. Raises RunError when the worker is gone."""
        if self.is_silent and self._reports.empty():
            return None
        try:
            return await in_time(self.report(), REPORT_SECONDS)
        except TimeoutError:
            self.is_silent = True
            return None

    async def last_reports(self, seconds: float) -> list[WorkerReport]:
        """What it owes and the report of its end, as far as they come in time."""
        reports = []
        with contextlib.suppress(TimeoutError, RunError):
            async with asyncio.timeout(seconds):
                for _ in range(1 + self._is_asked):
                    reports.append(await self.report())
                self.is_heard = True
        return reports

    async def report(self) -> WorkerReport:
        """The next report. Raises RunError when the worker is gone."""
        report = await self._reports.get()
        if report is None:
            self._reports.put_nowait(None)
            raise RunError(
                f"worker process {self.process.pid} ended unexpectedly",
                "look for a kernel out-of-memory message, and start again",
            )
        self._is_asked = self.is_silent = False
        return report

    async def connection_ids(self) -> tuple[int, ...]:
        """The server's ids of its connections; none if it does not answer in time."""
        while not self._connections.empty():
            self._connections.get_nowait()
        self.channel.send(AskConnections())
        with contextlib.suppress(TimeoutError):
            return await in_time(self._connections.get(), CONNECTIONS_SECONDS)
        return ()

    async def end(self) -> None:
        """Ends the process; one that has finished ends by itself."""
        with contextlib.suppress(TimeoutError):
            await in_time(self.channel.close(), 1)
        with contextlib.suppress(TimeoutError):
            await in_time(self.process.wait(), 1)
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        self._reading.cancel()

    async def _read(self) -> None:
        while (message := await self.channel.receive()) is not None:
            match message:
                case WorkerReport():
                    self._reports.put_nowait(message)
                case Connections(ids=ids):
                    self._connections.put_nowait(ids)
                case HandOver():
                    self._pass_on(message)
                case Finished(allowances=allowances):
                    if allowances == self._allowances:
                        self.finished.set()
                case _:
                    assert_never(message)
        self._reports.put_nowait(None)


async def _spawned() -> tuple[asyncio.subprocess.Process, socket.socket]:
    """The process, and our end of the line to it."""
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tuibench.load.worker",
                str(theirs.fileno()),
                pass_fds=(theirs.fileno(),),
                stdin=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
    except BaseException:
        ours.close()
        raise
    return process, ours
