"""Prometheus endpoint of a session: metrics page and HTTP server.

A scrape costs the run little: its event loop only copies the figures; a thread renders the page.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tuibench import __version__
from tuibench.model.event import Event
from tuibench.model.histogram import Histogram, merge_histograms
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import RunState, SessionMessage, Status
from tuibench.model.tick import RESPONSE
from tuibench.record.prometheus.metrics import MetricsSnapshot, RunTotals, TrafficTotals
from tuibench.session.load.load_controller import LoadController
from tuibench.session.load_run import LoadRun
from tuibench.session.service.http_server import HttpContent, HttpServer
from tuibench.session.totals.watch_totals import WatchTotals
from tuibench.session.watch_run import WatchRun

METRICS = "/metrics"
UNMEASURED = frozenset({RunState.STARTING, RunState.WARMING})
"""States in which nothing is counted yet."""


@asynccontextmanager
async def serve_metrics(run: LoadRun | WatchRun) -> AsyncIterator[str]:
    """Serve the run's metrics within the context, if its spec requests it; yields the address, or nothing.

    Raises RunError at once if that is not possible. Until the load runs, a scrape gets status 503.
    """
    if run.spec.metrics_at is None:
        yield ""
        return
    from tuibench.record.prometheus.page import render_page

    exporter = MetricsExporter(run, render_page)
    responder = HttpServer({METRICS: exporter.page})
    await responder.open(run.spec.metrics_at)
    try:
        yield responder.url + METRICS
    finally:
        await responder.close()


class MetricsExporter:
    """Listens to a run, and renders its metrics at any time."""

    def __init__(
        self, run: LoadRun | WatchRun, make: Callable[[MetricsSnapshot, str], tuple[bytes, str]]
    ) -> None:
        self._run = run
        self._make = make
        self._created_at = time.time()
        self._status: Status | None = None
        self._sample: Sample | None = None
        self._events: Counter[str] = Counter()
        run.watcher.bus.listeners.append(self._on_message)

    async def page(self, accept: str) -> HttpContent | None:
        """The current page; None before the first status."""
        if self._status is None:
            return None
        return HttpContent(*await asyncio.to_thread(self._make, self._snapshot(self._status), accept))

    def _snapshot(self, status: Status) -> MetricsSnapshot:
        run = self._run
        return MetricsSnapshot(
            version=__version__,
            session=run.spec.session,
            plan=run.spec.plan,
            where=run.spec.target.where,
            server=run.watcher.server,
            started_at=self._created_at,
            status=status,
            totals=self._totals(measured=status.state not in UNMEASURED),
            traffic=traffic_totals(run.totals) if isinstance(run, WatchRun) else None,
            sample=self._sample,
            events=dict(self._events),
            use=run.effect_tracker.total_use,
        )

    def _totals(self, *, measured: bool) -> RunTotals | None:
        """None for a session without load: the server's counters describe the traffic."""
        return run_totals(self._run.load, measured=measured) if isinstance(self._run, LoadRun) else None

    def _on_message(self, message: SessionMessage) -> None:
        match message:
            case Status():
                self._status = message
            case Sample():
                self._sample = message
            case Event():
                self._events[str(message.kind)] += 1


def traffic_totals(totals: WatchTotals) -> TrafficTotals:
    """A copy that does not change while the page is rendered."""
    return TrafficTotals(
        reads=totals.count("reads"),
        writes=totals.count("writes"),
        others=totals.count("others"),
        latency=totals.tick.hist(RESPONSE),
    )


def run_totals(load: LoadController, *, measured: bool) -> RunTotals:
    """The load's totals since measuring began, of each kind of transaction; zeros before."""
    response = {name: Histogram() for name in load.weights}
    if not measured:
        return RunTotals(response=response)
    parts = load.accounting.all_parts
    for name in response:
        response[name] = merge_histograms(part.of_kind(name) for part in parts)
    return RunTotals(
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
        service=merge_histograms(part.service for part in parts),
    )
