"""The server's statements on demand: from a viewer's first request until now.

Nothing is read before a viewer's request. After that, statements are read at further requests, at most every
three seconds, and once at each change with a marker on the charts, so that the periods before and after it
can be compared. The load's own statements, as measured by the client, are always included.
"""

import asyncio
from collections.abc import Callable, Mapping

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.metrics.series.statement_window import CLIENT, StatementSums, statement_rows
from tuibench.model.event import Event
from tuibench.model.histogram import Histogram, bucket_upper_bound
from tuibench.model.measurements.activity import StatementReport
from tuibench.observe.activity.statements import PS_PER_US, StatementReading, StatementSampler
from tuibench.session.lifecycle.tasks import StartTask

LEAST_SECONDS = 3.0
"""Minimum time between two readings for viewers."""

OwnStatements = Callable[[], Mapping[str, Histogram]]


class _TimedSums:
    """The cumulative figures at one moment."""

    def __init__(self, at_ns: int, sums: dict[str, StatementSums], label: str = "") -> None:
        self.at_ns = at_ns
        self.sums = sums
        self.label = label


class StatementMonitor:
    """`own` are the load's statements so far, by name; empty without a load."""

    def __init__(
        self,
        sampler: StatementSampler,
        publish: Callable[[StatementReport], None],
        clock: Clock,
        start_task: StartTask,
    ) -> None:
        self.own: OwnStatements = dict
        self._sampler = sampler
        self._publish = publish
        self._clock = clock
        self._start_task = start_task
        self._first: _TimedSums | None = None
        self._changed: _TimedSums | None = None
        self._top: tuple[str, ...] = ()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False
        self._read_at_ns: int | None = None
        self._pending: str = ""

    @property
    def statements(self) -> int:
        """All statements sent, for the reconciliation."""
        return self._sampler.statements

    @property
    def connection_ids(self) -> set[int]:
        return self._sampler.connection_ids

    def renew(self) -> None:
        """Process a viewer's request. Returns at once; the report is published."""
        now_ns = self._clock.now_ns()
        is_due = self._read_at_ns is None or now_ns - self._read_at_ns >= LEAST_SECONDS * NS_PER_SECOND
        if is_due:
            self._begin("")

    def on_event(self, event: Event) -> None:
        """A change with a marker on the charts starts another period, if statements were requested."""
        if event.marker is not None and self._first is not None:
            self._pending = event.text
            self._begin(event.text)

    async def close(self) -> None:
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        await self._sampler.close()

    def _begin(self, change: str) -> None:
        if self._is_closed or (self._task is not None and not self._task.done()):
            return
        self._task = self._start_task(self._take_reading(change), "statements")

    async def _take_reading(self, change: str) -> None:
        change, self._pending = change or self._pending, ""
        reading = await self._sampler.read(self._top)
        if reading is None:
            return
        timed = _TimedSums(self._clock.now_ns(), self._sums(reading), change)
        self._read_at_ns = timed.at_ns
        if self._first is None:
            self._first = timed
        elif change:
            self._first, self._changed = self._changed or self._first, timed
        self._report(timed, reading.gaps)

    def _report(self, now: _TimedSums, gaps: tuple[str, ...]) -> None:
        first, changed = self._first, self._changed
        if first is None:
            return
        rows = statement_rows(first.sums, changed.sums if changed else None, now.sums)
        self._top = tuple(key for key, sums in now.sums.items() if any(row.text == sums.text for row in rows))
        base = changed or first
        self._publish(
            StatementReport(
                seconds=(now.at_ns - base.at_ns) / NS_PER_SECOND,
                rows=rows,
                before_seconds=(changed.at_ns - first.at_ns) / NS_PER_SECOND if changed else 0.0,
                change=changed.label if changed else "",
                gaps=gaps,
            )
        )

    def _sums(self, reading: StatementReading) -> dict[str, StatementSums]:
        server = {
            key: StatementSums(
                totals.text,
                totals.source,
                totals.calls,
                totals.time_ps / PS_PER_US,
                totals.rows_examined,
                _us(totals.lock_ps),
                _us(totals.cpu_ps),
                reading.distributions.get(key),
            )
            for key, totals in reading.totals.items()
        }
        own = {f"{CLIENT} {name}": client_sums(name, times) for name, times in self.own().items()}
        return server | own


def client_sums(name: str, times: Histogram) -> StatementSums:
    """A statement of the load as the client measured it, the network included."""
    ends = {int(bucket_upper_bound(bucket)): count for bucket, count in times.counts.items()}
    return StatementSums(name, CLIENT, times.count, float(times.sum_us), distribution=ends)


def _us(ps: int | None) -> float | None:
    return None if ps is None else ps / PS_PER_US
