"""All worker processes of a run as one: how many there are, and which share of the load each has."""

import asyncio
from collections.abc import Sequence

import msgspec

from tuibench.clock import NS_PER_MS
from tuibench.load.assignment import Assignment, parts
from tuibench.load.idle import Idle
from tuibench.load.report import HandOver, WorkerReport
from tuibench.load.rules import rules_of
from tuibench.load.wire import (
    Begin,
    Finish,
    Pause,
    Resume,
    SetConnections,
    SetDelay,
    SetRate,
    SetSession,
    SetWeights,
    Spare,
    StartOver,
)
from tuibench.load.worker_process import Worker
from tuibench.model.plan import Plan
from tuibench.model.target import Target
from tuibench.mysql.connection import CHARSET
from tuibench.workload.program import Program
from tuibench.workload.weights import with_weights

LAST_REPORT_SECONDS = 5.0


class Fleet:
    """All workers of a run, more as the threads grow, up to `most`.

    Connections speak `charset`. Workers are taken from the `idle` ones, and given back.
    """

    def __init__(
        self,
        plan: Plan,
        target: Target,
        program: Program,
        most: int,
        *,
        charset: str = CHARSET,
        idle: Idle | None = None,
    ) -> None:
        self._plan = plan
        self._target = target
        self._program = program
        self._most = most
        self._charset = charset
        self._idle = idle
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
        """Ends the processes, whatever they do, but for those that others may use."""
        self._is_over = True
        part = self._idle.part if self._idle is not None else Worker.end
        await asyncio.gather(*(part(worker) for worker in self._workers))

    async def _grow(self, threads: int) -> None:
        """As many workers as there are threads, but no more than allowed."""
        wanted = max(1, min(threads, self._most))
        unlimited: list[int | None] = [None] * wanted
        limits = unlimited if self._plan.warmup_seconds else _limits(self._plan, wanted)
        take = self._idle.take if self._idle is not None else Worker.start
        new = await asyncio.gather(*(take(self._hand_on) for _ in range(len(self._workers), wanted)))
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
            charset=self._charset,
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
