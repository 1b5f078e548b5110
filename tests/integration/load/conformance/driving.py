"""An engine of either kind in this process, on a real server."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from tests.unit.load.driving import LoadFigures, balanced
from tuibench.load.asyncio_engine import AsyncioEngine
from tuibench.load.messages import Counters, ExecutionOptions, Finished, Reassign, StartLoad, WorkerReport
from tuibench.load.native_engine import NativeEngine
from tuibench.model.callers import Backoff, Breaker, CallerPolicy, QueueOrder
from tuibench.model.plan import Arrival, Backlog, OnError
from tuibench.model.server import IGNORED_ERRORS, Target
from tuibench.model.tick import (
    TRANSACTION,
    WAIT,
    Histogram,
    fold_histograms,
)
from tuibench.workload import library
from tuibench.workload.program import Program

DEADLINE_SECONDS = 60
LOOK_SECONDS = 0.005

AnyEngine = type[AsyncioEngine] | type[NativeEngine]

ENGINES: dict[str, AnyEngine] = {"asyncio": AsyncioEngine, "native": NativeEngine}

QUEUES = (
    CallerPolicy(deadline_ms=40, attempts=3, backoff=Backoff(5, 2, True)),
    CallerPolicy(deadline_ms=40, attempts=3, queue=QueueOrder.LIFO, retry_budget=50.0),
    CallerPolicy(deadline_ms=40, attempts=3, queue=QueueOrder.SHED, breaker=Breaker(60, 0.2)),
)
"""What callers do, with each order of the queue."""

PROFILE = """
name = "conformance"
summary = "statements for the tests of both engines"
data_set = "none"
"""


def program(text: str) -> Program:
    """A program of the transactions in this text, on tables that a test makes itself."""
    return library.load_program("conformance.toml", text=PROFILE + text)


class Drive(LoadFigures):
    """A running engine; its reports are added up."""

    def __init__(self, engine: AsyncioEngine | NativeEngine, told: list[Reassign | Finished]) -> None:
        super().__init__()
        self.engine = engine
        self.told = told
        self._is_stopped = False
        self.last: WorkerReport = self.report()

    def report(self) -> WorkerReport:
        """A new report. In every one the books are balanced."""
        self.last = report = self.engine.report()
        assert balanced(report.counters), report.counters
        fold_histograms(self.hists, report.hists)
        return report

    @property
    def waits(self) -> Histogram:
        return self.hist(WAIT)

    @property
    def kinds(self) -> dict[str, int]:
        return {name: each.count for name, each in self.named(TRANSACTION).items()}

    @property
    def counters(self) -> Counters:
        return self.report().counters

    async def until(self, condition: Callable[[Counters], Any]) -> Counters:
        """Waits until the counters are so; fails with them when that takes too long."""
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                while True:
                    if condition(counters := self.counters):
                        return counters
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            raise AssertionError(f"not seen: {self.last}") from None

    async def until_connected(self, connections: int) -> None:
        await self.until(lambda _: self.last.connections == connections)

    async def reconnects(self, times: int) -> None:
        """Waits until connections were made again so often, in all."""
        await self.until(lambda counters: counters.reconnects == times)

    async def completes(self, transactions: int) -> None:
        """Waits until so many more are completed."""
        enough = self.counters.completed + transactions
        await self.until(lambda counters: counters.completed >= enough)

    async def ends(self) -> Counters:
        """Stops the engine; the last counters."""
        await self.stop(DEADLINE_SECONDS)
        return self.counters

    async def stop(self, grace_seconds: float) -> None:
        """Stops the engine, unless it is stopped."""
        if not self._is_stopped:
            self._is_stopped = True
            await self.engine.stop(grace_seconds)


@asynccontextmanager
async def driving(
    kind: AnyEngine,
    target: Target,
    program: Program,
    connections: int | Iterable[int] = 1,
    *,
    rate: float = 0,
    limit: int | None = None,
    arrival: Arrival = Arrival.POISSON,
    on_error: OnError = OnError.STOP,
    backlog: Backlog = Backlog.KEEP,
    ignored_errors: tuple[int, ...] | None = IGNORED_ERRORS,
    max_retries: int = 100,
    prepared: bool = True,
    reconnect: int = 0,
    users: int = 0,
) -> AsyncIterator[Drive]:
    """Drives so many connections; stops them without grace at the end."""
    begin = StartLoad(
        worker=0,
        workers=1,
        target=target,
        program=program,
        seed=1,
        execution=ExecutionOptions(
            ignored_errors=None if ignored_errors is None else frozenset(ignored_errors),
            max_retries=max_retries,
            on_error=on_error,
            backlog=backlog,
            prepared=prepared,
            session_sql=(),
            reconnect=reconnect,
        ),
        arrival=arrival,
        limit=limit,
    )
    told: list[Reassign | Finished] = []
    engine = kind(begin, emit=told.append)
    drive = Drive(engine, told)
    engine.set_rate(rate)
    engine.set_users(users)
    engine.set_connections(range(connections) if isinstance(connections, int) else tuple(connections))
    try:
        yield drive
    finally:
        await drive.stop(0)
