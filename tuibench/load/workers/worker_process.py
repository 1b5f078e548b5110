"""Session's handle of a worker process: start, requests, reports with timeouts, end."""

import asyncio
import contextlib
import math
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import assert_never

from tuibench.deadline import wait_with_timeout
from tuibench.errors import RunError
from tuibench.load.messages import (
    ConnectionIds,
    FromWorker,
    MessageChannel,
    RequestConnectionIds,
    RequestReport,
    ResetLoadStats,
    SessionChannel,
    StartLoad,
)
from tuibench.load.worker_report import Finished, Reassign, WorkerReport

CONNECTIONS_SECONDS = 1.0
REPORT_SECONDS = 3.0
"""Timeout for a worker's report.

The round continues without it: its counters are cumulative, so its next report
contains the difference. There is no further wait for a worker that is already overdue."""

MOST_LATE_SECONDS = 30.0
"""How much longer the last report of a worker that still runs is waited for."""


class WorkerGoneError(RunError):
    """A worker process has ended unexpectedly."""


class WorkerProcess:
    """One worker process and the connection to it.

    `finished` is set when it has used its quota, `is_overdue` while its report is overdue, `is_silent` while
    it is overdue and uses no CPU, `has_reported` after its last report. `forward` gets its work.

    A host with thousands of runnable threads lets a worker run only every few seconds: it is late then. A
    worker that is stopped or hangs uses no CPU: it is silent.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        channel: SessionChannel,
        forward: Callable[[Reassign], None] = lambda _: None,
    ) -> None:
        self.process = process
        self.channel = channel
        self.finished = asyncio.Event()
        self.reset(forward)
        self._reports: asyncio.Queue[WorkerReport | None] = asyncio.Queue()
        self._connections: asyncio.Queue[tuple[int, ...]] = asyncio.Queue()
        self._reading = asyncio.create_task(self._read(), name=f"worker {process.pid}")

    def reset(self, forward: Callable[[Reassign], None]) -> None:
        """Resets the state before a load: no pending reports."""
        self.finished.clear()
        self._grants = 0
        self._forward = forward
        self.is_overdue = self.is_silent = False
        self.has_reported = False
        self._cpu_ticks: int | None = None
        self._is_asked = False
        self._checkpoint = False

    @classmethod
    async def start(cls, forward: Callable[[Reassign], None] = lambda _: None) -> "WorkerProcess":
        """Starts a process in its own process session, so that the terminal's Ctrl-C does not reach it.

        Raises RunError if the system refuses a process or open files.
        """
        try:
            process, line = await _spawn()
            try:
                channel: SessionChannel = await MessageChannel.over(line, FromWorker)
            except BaseException:
                line.close()
                process.kill()
                await process.wait()
                raise
            return cls(process, channel, forward)
        except OSError as error:
            raise RunError(
                f"cannot start a worker process: {error.strerror or error}",
                "check the account's limits: ulimit -u for processes, ulimit -n for open files",
            ) from error

    def grant_quota(self, message: StartLoad | ResetLoadStats | Reassign) -> None:
        """Grants a quota of transactions; clears `finished`."""
        self._grants += 1
        self.finished.clear()
        self.channel.send(message)

    def request_report(self, *, checkpoint: bool) -> None:
        """Requests a report unless one is pending; a skipped checkpoint is requested with the next report."""
        self._checkpoint = self._checkpoint or checkpoint
        if not self._is_asked:
            self._has_used_cpu()
            self.channel.send(RequestReport(self._checkpoint))
            self._is_asked, self._checkpoint = True, False

    async def report_in_time(self) -> WorkerReport | None:
        """The requested report, None after the timeout. Raises RunError if the worker has ended."""
        if self.is_overdue and self._reports.empty():
            self.is_silent = not self._has_used_cpu()
            return None
        try:
            return await wait_with_timeout(self.report(), REPORT_SECONDS)
        except TimeoutError:
            self.is_overdue = True
            self.is_silent = not self._has_used_cpu()
            return None

    def _has_used_cpu(self) -> bool:
        """Whether the process has used CPU since the last call; False where that is not known."""
        before, self._cpu_ticks = self._cpu_ticks, cpu_ticks(self.process.pid)
        return self._cpu_ticks is not None and self._cpu_ticks != before

    async def last_reports(self, seconds: float) -> list[WorkerReport]:
        """The pending report and the last one, if they arrive in time; a worker that runs gets more time."""
        reports: list[WorkerReport] = []
        owed = 1 + self._is_asked
        waits = 1 + math.ceil(MOST_LATE_SECONDS / max(seconds, REPORT_SECONDS))
        self._has_used_cpu()
        with contextlib.suppress(RunError):
            for _ in range(waits):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        while len(reports) < owed:
                            reports.append(await self.report())
                        self.has_reported = True
                        break
                if not self._has_used_cpu():
                    break
        return reports

    async def report(self) -> WorkerReport:
        """The next report. Raises RunError if the worker has ended."""
        report = await self._reports.get()
        if report is None:
            self._reports.put_nowait(None)
            raise WorkerGoneError(
                f"worker process {self.process.pid} ended unexpectedly",
                "check for a kernel out-of-memory message, then start again",
            )
        self._is_asked = self.is_overdue = self.is_silent = False
        return report

    async def connection_ids(self) -> tuple[int, ...]:
        """The server's ids of its connections; none after the timeout."""
        while not self._connections.empty():
            self._connections.get_nowait()
        self.channel.send(RequestConnectionIds())
        with contextlib.suppress(TimeoutError):
            return await wait_with_timeout(self._connections.get(), CONNECTIONS_SECONDS)
        return ()

    async def end(self) -> None:
        """Ends the process; a process that has finished ends on its own."""
        with contextlib.suppress(TimeoutError):
            await wait_with_timeout(self.channel.close(), 1)
        with contextlib.suppress(TimeoutError):
            await wait_with_timeout(self.process.wait(), 1)
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        self._reading.cancel()

    async def _read(self) -> None:
        while (message := await self.channel.receive()) is not None:
            match message:
                case WorkerReport():
                    self._reports.put_nowait(message)
                case ConnectionIds(ids=ids):
                    self._connections.put_nowait(ids)
                case Reassign():
                    self._forward(message)
                case Finished(grants=grants):
                    if grants == self._grants:
                        self.finished.set()
                case _:
                    assert_never(message)
        self._reports.put_nowait(None)


def cpu_ticks(pid: int) -> int | None:
    """The CPU time of a process in the system's ticks; None where there is no /proc, or no such process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    user, system = fields[11:13]
    return int(user) + int(system)


async def _spawn() -> tuple[asyncio.subprocess.Process, socket.socket]:
    """The process, and the session's end of the connection."""
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tuibench.load.workers.worker",
                str(theirs.fileno()),
                pass_fds=(theirs.fileno(),),
                stdin=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
    except BaseException:
        ours.close()
        raise
    return process, ours
