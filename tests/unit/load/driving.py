"""An engine on a scripted server, and a way to wait for what it does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from tests.fakes import FakeClock, FakeServer
from tests.virtual import VirtualClock
from tuibench.load.asyncio_engine import AsyncioEngine
from tuibench.load.messages import Counters, Finished, Reassign, StartLoad, WorkerReport
from tuibench.model.tick import (
    RESPONSE,
    SERVICE,
    STATEMENT,
    Histogram,
    NamedHistograms,
    SlowTransaction,
    fold_histograms,
)

TURNS_LIMIT = 20_000


AnyClock = TypeVar("AnyClock", FakeClock, VirtualClock)


class LoadFigures(NamedHistograms):
    """The latencies of all reports of a load so far."""

    def __init__(self) -> None:
        self.hists: dict[str, Histogram] = {}

    @property
    def transactions(self) -> Histogram:
        return self.hists.setdefault(RESPONSE, Histogram())

    @property
    def service(self) -> Histogram:
        return self.hist(SERVICE)

    @property
    def statements(self) -> dict[str, Histogram]:
        return self.named(STATEMENT)


class Drive(LoadFigures, Generic[AnyClock]):
    """An engine, what it told, and the latencies of all its reports so far. `last` is for a test to fill."""

    def __init__(self, server: FakeServer, begin: StartLoad, clock: AnyClock) -> None:
        super().__init__()
        self.server = server
        self.clock: AnyClock = clock
        self.told: list[Reassign | Finished] = []
        self.engine = AsyncioEngine(
            begin, connect=server.connect, clock=clock, emit=self.told.append, timer=clock.timer
        )
        self.last = Counters()
        self.slowest: list[SlowTransaction] = []

    def report(self) -> WorkerReport:
        report = self.engine.report()
        fold_histograms(self.hists, report.hists)
        self.slowest += report.slowest
        return report

    @property
    def counters(self) -> Counters:
        return self.report().counters

    async def until_ended(self, transactions: int) -> None:
        """Waits until so many transactions came to an end, whichever."""
        await until(lambda: ended(self.counters) >= transactions)


@asynccontextmanager
async def driving(
    server: FakeServer, begin: StartLoad, connections: int = 1, clock: FakeClock | None = None
) -> AsyncIterator[Drive[FakeClock]]:
    """Drives this many connections; stops them without grace at the end."""
    drive = Drive(server, begin, clock or FakeClock())
    drive.engine.set_connections(range(connections))
    try:
        yield drive
    finally:
        await drive.engine.stop(0)


async def until(condition: Callable[[], bool]) -> None:
    """Lets the loop turn until something holds; fails when it never does."""
    for _ in range(TURNS_LIMIT):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not come to pass")


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def ended(counters: Counters) -> int:
    return counters.completed + counters.failed + counters.abandoned


def balanced(counters: Counters) -> bool:
    """The accounting identity, and that of the deadline."""
    waiting = counters.in_flight + counters.backlog
    return (
        counters.scheduled == ended(counters) + waiting
        and counters.in_flight >= 0
        and counters.backlog >= 0
        and counters.good + counters.late <= counters.completed
        and 0 <= counters.resent <= counters.scheduled
    )
