"""HTTP: server and metrics endpoint."""

import asyncio
import contextlib
import socket
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.session.simulated_session import PlayedFleet, simulate_session
from tests.unit.session.worker_reports import report
from tuibench.base.errors import RunError
from tuibench.load.messages import Counters, WorkerReport
from tuibench.model.event import EventKind
from tuibench.model.message import Address, ResetStats, RunState
from tuibench.model.plan import RunPlan
from tuibench.model.tick import Histogram, Tick
from tuibench.record.prometheus import MetricsSnapshot, render_page
from tuibench.session import http as module
from tuibench.session.http import (
    LONGEST_REQUEST_BYTES,
    MAX_CONNECTIONS,
    HttpResponse,
    HttpServer,
    MetricsExporter,
)
from tuibench.session.load_run import LoadRun
from tuibench.session.metrics_endpoint import serve_metrics

# The small web server: what it answers, whom it turns away, and what it says when it cannot listen.


ANY = Address("127.0.0.1", 0)


async def greet(accept: str) -> HttpResponse | None:
    return HttpResponse(f"accepts {accept}".encode(), "text/special")


async def too_early(_: str) -> HttpResponse | None:
    return None


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[Address]:
    """A responder with two pages; where it listens."""
    responder = HttpServer({"/page": greet, "/later": too_early})
    await responder.open(ANY)
    try:
        host, _, port = responder.url.removeprefix("http://").rpartition(":")
        yield Address(host, int(port))
    finally:
        await responder.close()


async def said(address: Address, request: str) -> str:
    """All that is answered to these bytes, until the other side hangs up."""
    reader, writer = await asyncio.open_connection(*address)
    writer.write(request.encode())
    try:
        return (await reader.read()).decode()
    finally:
        writer.close()


async def is_turned_away(address: Address) -> bool:
    with contextlib.suppress(ConnectionResetError):
        return await said(address, "GET /page HTTP/1.1\r\n\r\n") == ""
    return True


async def asked(request: str) -> str:
    async with serving() as address:
        return await said(address, request)


async def test_a_page_in_the_format_that_is_asked_for() -> None:
    answer = await asked("GET /page?x=1 HTTP/1.1\r\nHost: here\r\nACCEPT: text/special\r\n\r\n")
    head, _, body = answer.partition("\r\n\r\n")
    assert head.splitlines() == [
        "HTTP/1.1 200 OK",
        "Content-Type: text/special",
        "Content-Length: 20",
        "Connection: close",
    ]
    assert body == "accepts text/special"


async def test_head_is_the_page_without_it() -> None:
    answer = await asked("HEAD /page HTTP/1.0\r\n\r\n")
    assert "Content-Length: 8\r\n" in answer
    assert answer.endswith("\r\n\r\n")


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("GET / HTTP/1.1", "200 OK"),
        ("GET /nothing HTTP/1.1", "404 Not Found"),
        ("GET /later HTTP/1.1", "503 Service Unavailable"),
        ("POST /page HTTP/1.1", "405 Method Not Allowed"),
        ("DELETE / HTTP/1.1", "405 Method Not Allowed"),
        ("GET /page HTTP/2", "400 Bad Request"),
        ("GET /page", "400 Bad Request"),
        ("\x16\x03\x01", "400 Bad Request"),
        (f"GET /{'x' * LONGEST_REQUEST_BYTES} HTTP/1.1", "400 Bad Request"),
    ],
)
async def test_what_else_is_asked_gets_its_status(request_line: str, status: str) -> None:
    answer = await asked(f"{request_line}\r\n\r\n")
    assert answer.startswith(f"HTTP/1.1 {status}\r\n")


async def test_the_root_names_the_pages() -> None:
    assert (await asked("GET / HTTP/1.1\r\n\r\n")).endswith("\r\n\r\n/page\n/later\n")


async def test_who_says_nothing_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REQUEST_TIMEOUT_SECONDS", 0.01)
    assert await asked("GET /page HTTP/1.1\r\n") == ""


async def test_too_many_callers_are_turned_away_and_the_others_served() -> None:
    async with serving() as address:
        waiting = [await asyncio.open_connection(*address) for _ in range(MAX_CONNECTIONS)]
        assert await is_turned_away(address)
        for reader, writer in waiting:
            writer.write(b"GET /page HTTP/1.1\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 200 OK")
            writer.close()
        assert "200 OK" in await said(address, "GET /page HTTP/1.1\r\n\r\n")


async def test_whoever_is_still_there_at_the_end_is_let_go() -> None:
    async with serving() as address:
        reader, writer = await asyncio.open_connection(*address)
    assert await reader.read() == b""
    writer.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(*address)


async def test_a_port_that_is_taken_is_named() -> None:
    async with serving() as address:
        with pytest.raises(
            RunError, match=rf"cannot serve metrics at 127\.0\.0\.1:{address.port}: "
        ) as error:
            await HttpServer({}).open(address)
    assert "another port" in error.value.hint


@pytest.mark.parametrize("host", ["203.0.113.7", "no.such.host.invalid"])
async def test_a_host_that_is_not_ours_is_an_error(host: str) -> None:
    with pytest.raises(RunError, match=f"cannot serve metrics at {host}:1"):
        await HttpServer({}).open(Address(host, 1))


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
async def test_an_ipv6_address_is_in_brackets() -> None:
    responder = HttpServer({})
    try:
        await responder.open(Address("::1", 0))
    except RunError:
        pytest.skip("no IPv6 loopback here")
    assert responder.url.startswith("http://[::1]:")
    await responder.close()


# What of a session gets onto its page of metrics, from the warm-up to the end.


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
        exporter = MetricsExporter(session)
        loop = asyncio.get_running_loop()

        def look() -> None:
            if exporter._status is not None:
                self.seen.append(exporter._snapshot(exporter._status))

        session.watcher.bus.listeners.append(lambda _: look())
        loop.call_later(
            8.5, lambda: setattr(self, "reset", asyncio.ensure_future(session.submit(ResetStats())))
        )

    def series(self, *names: str) -> list[Any]:
        return [tuple(totals(each).sums.get(name, 0) for name in names) for each in self.seen]


def totals(snapshot: MetricsSnapshot) -> Tick:
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
    assert {totals(each).sums.get("completed", 0) for each in warming} == {0}
    assert {tuple(totals(each).named("trx.")) for each in seen.seen} == {("point_select",)}
    assert render_page(warming[-1])[0]


def test_counters_only_grow_even_after_a_reset(seen: Scraper) -> None:
    for name in ("completed", "reads"):
        series = [total for (total,) in seen.series(name)]
        assert series == sorted(series)
        assert series[-1] == 80
    errors = [times for (times,) in seen.series("error.1213")]
    assert errors == sorted(errors)
    assert errors[-1] > 8


def test_so_do_the_buckets_of_the_histogram(seen: Scraper) -> None:
    whole = [totals(each).hist("trx.point_select") for each in seen.seen]
    counts = [histogram.count for histogram in whole]
    assert counts == sorted(counts)
    assert whole[-1] == Histogram.of([2000] * 80)


def test_what_is_taken_down_does_not_change_any_more(seen: Scraper) -> None:
    assert len({totals(each).hist("trx.point_select").count for each in seen.seen}) > 5


def test_events_are_counted_by_their_kind(seen: Scraper) -> None:
    last = Counter(seen.seen[-1].events)
    assert (last["start"], last["reset"], last["stop"]) == (1, 1, 1)


async def test_a_session_without_an_address_serves_nothing(tmp_path: Path) -> None:
    session = a_session(tmp_path)
    async with serve_metrics(session) as url:
        assert url == ""
    assert session.watcher.bus.listeners == []


async def test_before_the_load_runs_scrapers_get_service_unavailable(tmp_path: Path) -> None:
    from tuibench.model.message import Address

    session = a_session(tmp_path)
    session.spec = replace(session.spec, metrics_at=Address("127.0.0.1", 0))
    async with serve_metrics(session) as url:
        host, _, rest = url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(rest.removesuffix("/metrics")))
        writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 503 ")
        writer.close()


def a_session(folder: Path) -> LoadRun:
    from tuibench.model.message import SessionSpec
    from tuibench.model.server import Target

    return LoadRun(SessionSpec(session="s1", plan=PLAN, target=Target(), run_directory=str(folder)))
