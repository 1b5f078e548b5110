"""The session's side of the workers: starts them, hands out connections, gathers their reports."""

import asyncio
import contextlib
import socket
import sys
from collections.abc import Callable, Sequence
from typing import assert_never

import msgspec

from tuibench.clock import NS_PER_MS
from tuibench.errors import RunError
from tuibench.load.assignment import Assignment, parts
from tuibench.load.report import Finished, HandOver, WorkerReport
from tuibench.load.rules import rules_of
from tuibench.load.wire import (
    AskConnections,
    Begin,
    Channel,
    Connections,
    Finish,
    FromWorker,
    Pause,
    Report,
    Resume,
    SessionEnd,
    SetConnections,
    SetDelay,
    SetRate,
    SetSession,
    SetWeights,
    Spare,
    StartOver,
)
from tuibench.model.plan import Plan
from tuibench.model.target import Target
from tuibench.workload.program import Program
from tuibench.workload.weights import with_weights

LAST_REPORT_SECONDS = 5.0
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
        self._allowances = 0
        self._pass_on = pass_on
        self.is_silent = False
        self.is_heard = False
        self._is_asked = False
        self._checkpoint = False
        self._reports: asyncio.Queue[WorkerReport | None] = asyncio.Queue()
        self._connections: asyncio.Queue[tuple[int, ...]] = asyncio.Queue()
        self._reading = asyncio.create_task(self._read(), name=f"worker {process.pid}")

    @classmethod
    async def start(cls, pass_on: Callable[[HandOver], None] = lambda _: None) -> "Worker":
        """Starts a process in a session of its own, out of reach of the terminal's Ctrl-C."""
        ours, theirs = socket.socketpair()
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
        return cls(process, await Channel.over(ours, FromWorker), pass_on)

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
            return await asyncio.wait_for(self.report(), REPORT_SECONDS)
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
            return await asyncio.wait_for(self._connections.get(), CONNECTIONS_SECONDS)
        return ()

    async def end(self) -> None:
        """Ends the process; one that has finished ends by itself."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.channel.close(), 1)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), 1)
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


class Fleet:
    """All workers of a run. More are started as the threads grow, up to `most`."""

    def __init__(self, plan: Plan, target: Target, program: Program, most: int) -> None:
        self._plan = plan
        self._target = target
        self._program = program
        self._most = most
        self._rate = plan.rate
        self._delay_ns = round(plan.client_delay_ms * NS_PER_MS)
        self._paused = False
        self._session = SetSession(())
        self._is_over = False
        self._assignment = Assignment()
        self._workers: list[Worker] = []

    def __len__(self) -> int:
        return len(self._workers)

    @property
    def pids(self) -> list[int]:
        return [worker.process.pid for worker in self._workers]

    async def start(self) -> None:
        """Starts the processes that the plan's threads need; they wait without a connection."""
        await self._grow(self._plan.threads)

    async def set_threads(self, threads: int) -> None:
        """Spreads the connections over the workers; with a limit of transactions no worker is added."""
        if self._plan.events is None:
            await self._grow(threads)
        spread = self._assignment.spread(threads, len(self._workers))
        for worker, numbers in zip(self._workers, spread, strict=True):
            worker.channel.send(SetConnections(numbers))
        self._pace([len(numbers) for numbers in spread])

    def set_rate(self, rate_per_second: float) -> None:
        """Paces the whole load; 0 for a closed loop."""
        self._rate = rate_per_second
        spread = self._assignment.spread(self._assignment.total, len(self._workers))
        self._pace([len(numbers) for numbers in spread])

    def set_weights(self, weights: Sequence[float]) -> None:
        """What the program's transactions weigh from now on, in their order."""
        self._program = with_weights(self._program, weights)
        self._tell(SetWeights(tuple(weights)))

    def set_delay(self, milliseconds: float) -> None:
        """How much later all answers are handed on, make-believe; 0 for not at all."""
        self._delay_ns = round(milliseconds * NS_PER_MS)
        self._tell(SetDelay(self._delay_ns))

    def set_session(self, statements: tuple[str, ...]) -> None:
        """Has every connection run these statements, those of later workers too.

        Harmless after the end: settings are put back when there are no workers any more.
        """
        self._session = SetSession(statements)
        if not self._is_over:
            self._tell(self._session)

    def start_over(self) -> None:
        """The warm-up is over: its backlog and its connections' figures are forgotten, the limits hold."""
        for worker, limit in zip(self._workers, _limits(self._plan, len(self._workers)), strict=True):
            worker.allow(StartOver(limit))

    def pause(self) -> None:
        self._paused = True
        self._tell(Pause())

    def resume(self) -> None:
        self._paused = False
        self._tell(Resume())

    async def finished(self) -> None:
        """Returns when every worker has ended all the transactions it was allowed."""
        while unfinished := [worker for worker in self._workers if not worker.finished.is_set()]:
            await unfinished[0].finished.wait()

    async def report(self, *, checkpoint: bool = False) -> list[WorkerReport]:
        """One report of every worker that answers in time.

        Raises RunError when one is gone, after all others have answered or had their time.
        """
        for worker in self._workers:
            worker.ask(checkpoint=checkpoint)
        answers = await asyncio.gather(
            *(worker.report_in_time() for worker in self._workers), return_exceptions=True
        )
        reports = []
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            if answer is not None:
                reports.append(answer)
        return reports

    @property
    def silent(self) -> tuple[int, ...]:
        """The processes that owe a report."""
        return tuple(worker.process.pid for worker in self._workers if worker.is_silent)

    @property
    def unheard(self) -> tuple[int, ...]:
        """The processes that did not report their end."""
        return tuple(worker.process.pid for worker in self._workers if not worker.is_heard)

    async def spare(self, connection_id: int) -> None:
        """The next query of ours that is interrupted there is the operator's doing; returns once all know."""
        self._tell(Spare(connection_id))
        await self.connection_ids()

    async def connection_ids(self) -> set[int]:
        """The server's ids of all connections of the load."""
        told = await asyncio.gather(*(worker.connection_ids() for worker in self._workers))
        return {id for ids in told for id in ids}

    async def finish(self, grace_seconds: float) -> list[WorkerReport]:
        """Ends the load; the last reports of those workers that answer in time. `kill` comes after it."""
        self._tell(Finish(grace_seconds))
        seconds = grace_seconds + LAST_REPORT_SECONDS
        told = await asyncio.gather(*(worker.last_reports(seconds) for worker in self._workers))
        return [report for reports in told for report in reports]

    async def kill(self) -> None:
        """Ends the processes, whatever they do."""
        self._is_over = True
        await asyncio.gather(*(worker.end() for worker in self._workers))

    async def _grow(self, threads: int) -> None:
        """As many workers as there are threads, but no more than allowed."""
        wanted = max(1, min(threads, self._most))
        unlimited: list[int | None] = [None] * wanted
        limits = unlimited if self._plan.warmup_seconds else _limits(self._plan, wanted)
        new = await asyncio.gather(*(Worker.start(self._hand_on) for _ in range(len(self._workers), wanted)))
        for worker in new:
            worker.allow(self._begin(len(self._workers), limits))
            if self._delay_ns:
                worker.channel.send(SetDelay(self._delay_ns))
            if self._session.statements:
                worker.channel.send(self._session)
            if self._paused:
                worker.channel.send(Pause())
            self._workers.append(worker)

    def _hand_on(self, work: HandOver) -> None:
        """One worker has no connections any more: what it leaves is for the one that keeps the most."""
        if not self._is_over:
            self._workers[self._assignment.busiest].allow(work)

    def _begin(self, number: int, limits: list[int | None]) -> Begin:
        return Begin(
            worker=number,
            workers=len(limits),
            target=self._target,
            program=self._program,
            seed=self._plan.seed,
            rules=rules_of(self._plan),
            arrival=self._plan.arrival,
            limit=limits[number],
        )

    def _pace(self, connections: list[int]) -> None:
        """Each worker gets a part of the rate that fits its connections."""
        total = sum(connections) or 1
        for worker, number in zip(self._workers, connections, strict=True):
            worker.channel.send(SetRate(self._rate * number / total))

    def _tell(self, message: msgspec.Struct) -> None:
        for worker in self._workers:
            worker.channel.send(message)


def _limits(plan: Plan, workers: int) -> list[int | None]:
    """How many transactions each worker may start, by its share of the threads."""
    if plan.events is None:
        return [None] * workers
    threads = [len(numbers) for numbers in Assignment().spread(plan.threads, workers)]
    return list(parts(plan.events, threads))
