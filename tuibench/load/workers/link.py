"""The session's end of a connection to something that runs load: a worker process, or a host of several.

Requests, reports with timeouts, quotas. Subclasses add how it is started and ended, and how its state is seen
from outside.
"""

import asyncio
import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from tuibench.deadline import wait_with_timeout
from tuibench.errors import RunError
from tuibench.load.messages import (
    MessageChannel,
    RequestConnectionIds,
    RequestReport,
    ResetLoadStats,
    StartLoad,
)
from tuibench.load.worker_report import Reassign, WorkerReport

CONNECTIONS_SECONDS = 1.0
REPORT_SECONDS = 3.0
"""Timeout for a worker's report.

The round continues without it: its counters are cumulative, so its next report
contains the difference. There is no further wait for a worker that is already overdue."""

MOST_LATE_SECONDS = 30.0
"""Additional seconds to wait for the last report of a worker that still runs."""

Forward = Callable[[Reassign], None]
"""Receives the work of a worker without connections."""


class WorkerGoneError(RunError):
    """A worker process, or a host, has ended unexpectedly."""


Incoming = TypeVar("Incoming")


class WorkerLink(ABC, Generic[Incoming]):
    """One connection. `name` is for messages: "worker process 4711"; `pid` is None outside of this host.

    `finished` is set when it has used its quota, `is_overdue` while its report is overdue, `is_silent` while
    it is overdue and does not run, `has_reported` after its last report. `forward` gets its work.

    A host with thousands of runnable threads lets a worker run only every few seconds: it is late then. A
    worker that is stopped or hangs does not run: it is silent.
    """

    name: str
    pid: int | None = None

    def __init__(self, channel: MessageChannel[Incoming], forward: Forward = lambda _: None) -> None:
        self.channel = channel
        self.finished = asyncio.Event()
        self.reset(forward)
        self._reports: asyncio.Queue[WorkerReport | None] = asyncio.Queue()
        self._connections: asyncio.Queue[tuple[int, ...]] = asyncio.Queue()
        self._reading = asyncio.create_task(self._read(), name=self.name)

    def reset(self, forward: Forward) -> None:
        """Resets the state before a load: no pending reports."""
        self.finished.clear()
        self._grants = 0
        self._forward = forward
        self.is_overdue = self.is_silent = False
        self.has_reported = False
        self._is_asked = False
        self._checkpoint = False

    def send(self, message: msgspec.Struct) -> None:
        """Queues a message."""
        self.channel.send(message)

    def grant_quota(self, message: StartLoad | ResetLoadStats | Reassign) -> None:
        """Grants a quota of transactions; clears `finished`."""
        self._grants += 1
        self.finished.clear()
        self.send(message)

    def request_report(self, *, checkpoint: bool) -> None:
        """Requests a report unless one is pending; a skipped checkpoint is requested with the next report."""
        self._checkpoint = self._checkpoint or checkpoint
        if not self._is_asked:
            self.has_run()
            self.send(RequestReport(self._checkpoint))
            self._is_asked, self._checkpoint = True, False

    async def report_in_time(self) -> WorkerReport | None:
        """The requested report, None after the timeout. Raises WorkerGoneError if it has ended."""
        if self.is_overdue and self._reports.empty():
            self.is_silent = not self.has_run()
            return None
        try:
            return await self.awaited_report()
        except TimeoutError:
            self.is_overdue = True
            self.is_silent = not self.has_run()
            return None

    async def awaited_report(self) -> WorkerReport:
        """The next report. Raises TimeoutError if it takes too long, WorkerGoneError if there is none."""
        return await wait_with_timeout(self.report(), REPORT_SECONDS)

    @abstractmethod
    def has_run(self) -> bool:
        """Whether it has run since the last call; False if unknown."""

    @abstractmethod
    async def end(self) -> None:
        """Ends it, and closes the connection."""

    @abstractmethod
    def gone(self) -> WorkerGoneError:
        """The error of one that has ended unexpectedly."""

    async def last_reports(self, seconds: float) -> list[WorkerReport]:
        """The pending report and the last one, if they arrive in time; one that runs gets more time."""
        reports: list[WorkerReport] = []
        owed = 1 + self._is_asked
        waits = 1 + math.ceil(MOST_LATE_SECONDS / max(seconds, REPORT_SECONDS))
        self.has_run()
        with contextlib.suppress(RunError):
            for _ in range(waits):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        while len(reports) < owed:
                            reports.append(await self.report())
                        self.has_reported = True
                        break
                if not self.has_run():
                    break
        return reports

    async def report(self) -> WorkerReport:
        """The next report. Raises WorkerGoneError if it has ended."""
        report = await self._reports.get()
        if report is None:
            self._reports.put_nowait(None)
            raise self.gone()
        self._is_asked = self.is_overdue = self.is_silent = False
        return report

    async def connection_ids(self) -> tuple[int, ...]:
        """The server's ids of its connections; none after the timeout."""
        while not self._connections.empty():
            self._connections.get_nowait()
        self.send(RequestConnectionIds())
        with contextlib.suppress(TimeoutError):
            return await wait_with_timeout(self._connections.get(), CONNECTIONS_SECONDS)
        return ()

    async def _read(self) -> None:
        """Handles messages until the connection ends."""
        try:
            while (message := await self.channel.receive()) is not None:
                self.on_message(message)
        finally:
            self.no_more_reports()

    def no_more_reports(self) -> None:
        """Makes waiters for a report raise `gone`."""
        self._reports.put_nowait(None)

    @abstractmethod
    def on_message(self, message: Incoming) -> None:
        """Handles one message."""

    def take_report(self, report: WorkerReport) -> None:
        self._reports.put_nowait(report)

    def take_connection_ids(self, ids: tuple[int, ...]) -> None:
        self._connections.put_nowait(ids)

    def take_work(self, work: Reassign) -> None:
        self._forward(work)

    def take_finish(self, grants: int) -> None:
        """Records that the quotas up to this one are used up."""
        if grants == self._grants:
            self.finished.set()


AnyLink = WorkerLink[Any]
"""A link with any types of messages."""
