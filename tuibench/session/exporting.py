"""A session's metrics for Prometheus: what of it goes onto the page, and for how long it is served.

Whoever scrapes costs the run little: in the session's own loop only the figures are taken down; the page is
made of them in a thread.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tuibench import __version__
from tuibench.metrics.histogram import Histogram, merged
from tuibench.model.event import Event
from tuibench.model.message import Downward, RunState, Status
from tuibench.model.sample import Sample
from tuibench.record.prometheus.snapshot import Snapshot, Totals
from tuibench.session.core import Session
from tuibench.session.loading import Load
from tuibench.session.responder import Page, Responder

METRICS = "/metrics"
UNMEASURED = frozenset({RunState.STARTING, RunState.WARMING})
"""States in which nothing counts yet."""


@asynccontextmanager
async def exporting(session: Session) -> AsyncIterator[str]:
    """Serves the session's metrics as long as the context lasts, if it is to; yields the address, or nothing.

    Raises RunError at once if that is not possible. Until the load runs, scrapers are told to come again.
    """
    if session.spec.metrics_at is None:
        yield ""
        return
    from tuibench.record.prometheus.page import page

    exporter = Exporter(session, page)
    responder = Responder({METRICS: exporter.page})
    await responder.open(session.spec.metrics_at)
    try:
        yield responder.url + METRICS
    finally:
        await responder.close()


class Exporter:
    """Listens to a session, and says at any time how it stands."""

    def __init__(self, session: Session, make: Callable[[Snapshot, str], tuple[bytes, str]]) -> None:
        self._session = session
        self._make = make
        self._created_at = time.time()
        self._status: Status | None = None
        self._sample: Sample | None = None
        self._events: Counter[str] = Counter()
        session.listeners.append(self._hear)

    async def page(self, accept: str) -> Page | None:
        """The page as it is now; None as long as the session has not said how it stands."""
        if self._status is None:
            return None
        return Page(*await asyncio.to_thread(self._make, self._snapshot(self._status), accept))

    def _snapshot(self, status: Status) -> Snapshot:
        session = self._session
        return Snapshot(
            version=__version__,
            session=session.spec.session,
            plan=session.spec.plan,
            where=session.spec.target.where,
            server=session.server,
            started_at=self._created_at,
            status=status,
            totals=totals(session.load, measured=status.state not in UNMEASURED),
            sample=self._sample,
            events=dict(self._events),
        )

    def _hear(self, message: Downward) -> None:
        match message:
            case Status():
                self._status = message
            case Sample():
                self._sample = message
            case Event():
                self._events[str(message.kind)] += 1


def totals(load: Load, *, measured: bool) -> Totals:
    """What the load has done since measuring began: before that nothing, of each kind of transaction."""
    response = {name: Histogram() for name in load.weights}
    if not measured:
        return Totals(response=response)
    parts = load.accounting.all_parts
    for name in response:
        response[name] = merged(part.of_kind(name) for part in parts)
    return Totals(
        completed=sum(part.counters.completed for part in parts),
        failed=sum(part.counters.failed for part in parts),
        abandoned=sum(part.counters.abandoned for part in parts),
        retries=sum(part.counters.retries for part in parts),
        reconnects=sum(part.counters.reconnects for part in parts),
        reads=sum(part.counters.reads for part in parts),
        writes=sum(part.counters.writes for part in parts),
        others=sum(part.counters.others for part in parts),
        errors=dict(sum((Counter(part.counters.errors) for part in parts), Counter[int]())),
        response=response,
        service=merged(part.service for part in parts),
    )
