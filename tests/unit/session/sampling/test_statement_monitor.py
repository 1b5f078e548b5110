"""Statements are read on demand, at changes, and no more often than that."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, cast

from tests.fakes import FakeClock
from tuibench.model.event import Event, EventKind
from tuibench.model.histogram import Histogram
from tuibench.model.measurements.activity import StatementReport
from tuibench.observe.activity.statements import (
    DIGEST,
    PS_PER_US,
    StatementReading,
    StatementSampler,
    StatementTotals,
)
from tuibench.session.sampling.statement_monitor import LEAST_SECONDS, StatementMonitor


class PlayedSampler:
    """A server with one statement, which was called so often and takes so long."""

    statements = 3
    connection_ids: frozenset[int] = frozenset({9})

    def __init__(self) -> None:
        self.calls, self.us_each, self.time_us, self.reads = 0, 100, 0, 0
        self.is_closed = False

    def work(self, calls: int) -> None:
        self.calls += calls
        self.time_us += calls * self.us_each

    async def read(self, wanted: Sequence[str]) -> StatementReading:
        self.reads += 1
        totals = StatementTotals(
            text="SELECT ?", source=DIGEST, calls=self.calls, time_ps=self.time_us * PS_PER_US
        )
        return StatementReading(totals={"db a": totals}, gaps=("a gap",))

    async def close(self) -> None:
        self.is_closed = True


class Tried:
    def __init__(self) -> None:
        self.server, self.clock = PlayedSampler(), FakeClock()
        self.reports: list[StatementReport] = []
        self.monitor = StatementMonitor(
            cast(StatementSampler, self.server), self.reports.append, self.clock, self._start
        )
        self._tasks: list[asyncio.Task[None]] = []

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        self._tasks.append(asyncio.create_task(work, name=name))
        return self._tasks[-1]

    async def ask(self, seconds: float = LEAST_SECONDS) -> None:
        self.clock.advance(seconds)
        self.monitor.renew()
        await asyncio.gather(*self._tasks)

    async def change(self, text: str, marker: int | None = 1, seconds: float = 1.0) -> None:
        self.clock.advance(seconds)
        event = Event(at=0.0, elapsed_seconds=0.0, kind=EventKind.SETTING, text=text, marker=marker)
        self.monitor.on_event(event)
        await asyncio.gather(*self._tasks)


async def test_nothing_is_read_before_the_first_request() -> None:
    tried = Tried()
    await tried.change("sync_binlog 1 → 0")
    assert tried.server.reads == 0
    await tried.ask()
    assert tried.server.reads == 1


async def test_polls_are_bounded() -> None:
    tried = Tried()
    await tried.ask()
    for _ in range(5):
        await tried.ask(LEAST_SECONDS / 10)
    assert tried.server.reads == 1
    await tried.ask()
    assert tried.server.reads == 2


async def test_the_span_begins_with_the_first_reading() -> None:
    tried = Tried()
    tried.server.work(1000)
    await tried.ask()
    tried.server.work(10)
    await tried.ask(5.0)
    report = tried.reports[-1]
    assert (report.seconds, report.before_seconds, report.gaps) == (5.0, 0.0, ("a gap",))
    assert [(row.now.calls, row.now.avg_ms, row.before) for row in report.rows] == [(10, 0.1, None)]


async def test_a_change_starts_another_span_and_the_previous_one_is_shown_beside_it() -> None:
    tried = Tried()
    await tried.ask()
    tried.server.work(10)
    await tried.change("sync_binlog 1 → 0", seconds=4.0)
    tried.server.us_each = 50
    tried.server.work(30)
    await tried.ask(6.0)
    report = tried.reports[-1]
    assert (report.change, report.before_seconds, report.seconds) == ("sync_binlog 1 → 0", 4.0, 6.0)
    (row,) = report.rows
    assert row.before is not None
    assert (row.before.calls, row.before.avg_ms, row.now.calls, row.now.avg_ms) == (10, 0.1, 30, 0.05)
    await tried.change("a note", marker=None)
    assert tried.reports[-1] is report


async def test_the_loads_own_statements_are_among_them() -> None:
    tried = Tried()
    own = Histogram.of([100])
    tried.monitor.own = lambda: {"point_select": own}
    await tried.ask()
    own.add(Histogram.of([200] * 9))
    await tried.ask()
    (row,) = tried.reports[-1].rows
    assert (row.text, row.source, row.now.calls, row.now.p95_ms) == ("point_select", "client", 9, 0.2)


async def test_after_its_end_nothing_is_read() -> None:
    tried = Tried()
    await tried.ask()
    await tried.monitor.close()
    await tried.ask()
    assert (tried.server.reads, tried.server.is_closed) == (1, True)
