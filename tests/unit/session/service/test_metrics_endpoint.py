"""What of a session gets onto its page of metrics, from the warm-up to the end."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.session.simulated_session import PlayedFleet, simulate_session
from tests.unit.session.worker_reports import report
from tuibench.load.worker_report import Counters, WorkerReport
from tuibench.model.command import ResetStats
from tuibench.model.event import EventKind
from tuibench.model.histogram import Histogram
from tuibench.model.message import RunState
from tuibench.model.plan import RunPlan
from tuibench.record.prometheus.metrics import MetricsSnapshot, RunTotals
from tuibench.record.prometheus.page import render_page
from tuibench.session.load_run import LoadRun
from tuibench.session.service.metrics_endpoint import MetricsExporter, serve_metrics

PLAN = RunPlan(profile="oltp_point_select", threads=4, seconds=8, warmup_seconds=4)


class Busy:
    """Ten transactions per second, each of 2 ms, and a deadlock each time it is asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.told = 0

    def __call__(self, fleet: PlayedFleet) -> list[WorkerReport]:
        self.asked += 1
        done = round(fleet.clock.time() * 10)
        grown, self.told = done - self.told, done
        counted = Counters(scheduled=done, completed=done, reads=done, errors={1213: self.asked})
        return [report(0, *[2000] * grown, counters=counted)]


class Scraper:
    """Takes the snapshot after every sample."""

    def __init__(self) -> None:
        self.seen: list[MetricsSnapshot] = []

    def prepare(self, session: LoadRun) -> None:
        exporter = MetricsExporter(session, render_page)
        loop = asyncio.get_running_loop()

        def look() -> None:
            if exporter._status is not None:
                self.seen.append(exporter._snapshot(exporter._status))

        session.watcher.bus.listeners.append(lambda _: look())
        loop.call_later(
            8.5, lambda: setattr(self, "reset", asyncio.ensure_future(session.submit(ResetStats())))
        )

    def series(self, *names: str) -> list[Any]:
        return [tuple(getattr(totals(each), name) for name in names) for each in self.seen]


def totals(snapshot: MetricsSnapshot) -> RunTotals:
    """Those of a load."""
    assert snapshot.totals is not None
    return snapshot.totals


@pytest.fixture
def seen(tmp_path: Path) -> Scraper:
    scraper = Scraper()
    summary = simulate_session(PLAN, Busy(), tmp_path, scraper.prepare)
    assert [event.kind for event in summary.events].count(EventKind.RESET) == 1
    return scraper


def test_nothing_counts_in_the_warm_up(seen: Scraper) -> None:
    warming = [each for each in seen.seen if each.status.state is RunState.WARMING]
    assert warming
    assert {totals(each).completed for each in warming} == {0}
    assert {tuple(totals(each).response) for each in seen.seen} == {("point_select",)}
    assert render_page(warming[-1]).body


def test_counters_only_grow_even_after_a_reset(seen: Scraper) -> None:
    for name in ("completed", "reads"):
        series = [total for (total,) in seen.series(name)]
        assert series == sorted(series)
        assert series[-1] == 80
    errors = [errors.get(1213, 0) for (errors,) in seen.series("errors")]
    assert errors == sorted(errors)
    assert errors[-1] > 8


def test_so_do_the_buckets_of_the_histogram(seen: Scraper) -> None:
    whole = [totals(each).response["point_select"] for each in seen.seen]
    counts = [histogram.count for histogram in whole]
    assert counts == sorted(counts)
    assert whole[-1] == Histogram.of([2000] * 80)


def test_what_is_taken_down_does_not_change_any_more(seen: Scraper) -> None:
    assert len({totals(each).response["point_select"].count for each in seen.seen}) > 5


def test_events_are_counted_by_their_kind(seen: Scraper) -> None:
    last = Counter(seen.seen[-1].events)
    assert (last["start"], last["reset"], last["stop"]) == (1, 1, 1)


async def test_a_session_without_an_address_serves_nothing(tmp_path: Path) -> None:
    session = a_session(tmp_path)
    async with serve_metrics(session) as url:
        assert url == ""
    assert session.watcher.bus.listeners == []


async def test_before_the_load_runs_scrapers_get_service_unavailable(tmp_path: Path) -> None:
    from tuibench.session.spec import Address

    session = a_session(tmp_path)
    session.spec = replace(session.spec, metrics_at=Address("127.0.0.1", 0))
    async with serve_metrics(session) as url:
        host, _, rest = url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(rest.removesuffix("/metrics")))
        writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 503 ")
        writer.close()


def a_session(folder: Path) -> LoadRun:
    from tuibench.model.target import Target
    from tuibench.session.spec import SessionSpec

    return LoadRun(SessionSpec(session="s1", plan=PLAN, target=Target(), run_directory=str(folder)))
