"""The endpoint for Prometheus of a run that asks for one; its server is imported with it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tuibench.session.load_run import LoadRun
from tuibench.session.run import WatchRun


@asynccontextmanager
async def serve_metrics(run: LoadRun | WatchRun) -> AsyncIterator[str]:
    """Serve the run's metrics within the context, if its spec requests it; yields the address, empty without
    metrics.

    Raises RunError at once if that is not possible. Until the load runs, a scrape gets status 503.
    """
    if run.spec.metrics_at is None:
        yield ""
        return
    from tuibench.session.http import METRICS, HttpServer, MetricsExporter

    responder = HttpServer({METRICS: MetricsExporter(run).page})
    await responder.open(run.spec.metrics_at)
    try:
        yield responder.url + METRICS
    finally:
        await responder.close()
