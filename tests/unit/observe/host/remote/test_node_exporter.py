"""The page of a node_exporter, from a small HTTP server."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.ticks import figures
from tests.unit.observe.host.remote.captured import exporter_page
from tuibench.metrics.figures import core_shares, read
from tuibench.model.tick import HOST
from tuibench.observe.host.figures import host_tick
from tuibench.observe.host.remote.node_exporter import NOTE, NodeExporterSource, parse_page
from tuibench.observe.host.remote.source import HostSourceError, parse_host_metrics


class Exporter(BaseHTTPRequestHandler):
    """Answers with its class' page; `lacks` refuses a choice of collectors, as one may."""

    page = exporter_page()
    lacks = False
    asked: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        type(self).asked.append(self.path)
        refused = self.lacks and "collect" in self.path
        self.send_response(400 if refused else 200)
        self.end_headers()
        self.wfile.write(b"missing collector: time" if refused else self.page.encode())

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@pytest.fixture
def exporter() -> Iterator[tuple[type[Exporter], str]]:
    class Own(Exporter):
        asked: list[str] = []  # noqa: RUF012

    server = HTTPServer(("127.0.0.1", 0), Own)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield Own, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_two_pages_are_a_sample() -> None:
    before, after = parse_page(exporter_page()), parse_page(exporter_page(4.0))
    assert before is not None
    assert after is not None
    tick = host_tick(before, after, cores=2, server_pid=None, note=NOTE, origin="http://db1:9100")
    assert tick is not None
    host = tick.moved("", HOST)
    assert (
        host.sums[HOST + "seconds"],
        read("cpu_total", host),
        read("cpu_server", host),
        read("steal", host),
    ) == (4.0, 50.0, None, 12.5)
    assert core_shares(host) == (100.0, 0.0)
    assert figures(host, "disk_read", "disk_write") == (1000.0, 4096.0)
    assert figures(host, "disk_read_ms", "disk_write_ms") == (None, 2.0)
    assert figures(host, "net_received", "net_sent") == (50.0, 70.0)
    assert figures(host, "memory_used", "swap_used") == (1e9, 5e8)
    assert (
        host.levels.get(HOST + "cpu_limit"),
        host.levels.get(HOST + "memory_limit"),
        host.missing.get(HOST + "server_cpu", ""),
    ) == (None, None, NOTE)


@pytest.mark.parametrize("missing", ["node_cpu", "node_time", "node_memory_MemTotal"])
def test_a_page_without_the_most_needful_is_none(missing: str) -> None:
    page = "\n".join(line for line in exporter_page().splitlines() if not line.startswith(missing))
    assert parse_page(page) is None


async def test_only_the_collectors_needed_are_asked_for(exporter: tuple[type[Exporter], str]) -> None:
    served, url = exporter
    reading = await NodeExporterSource(parse_host_metrics(url), 5.0).read()
    assert (reading.cores, reading.server_pid, reading.note) == (2, None, NOTE)
    assert served.asked == [
        "/metrics?collect[]=cpu&collect[]=meminfo&collect[]=diskstats&collect[]=netdev&collect[]=time"
    ]


async def test_an_exporter_that_lacks_one_is_asked_for_all(exporter: tuple[type[Exporter], str]) -> None:
    served, url = exporter
    served.lacks = True
    source = NodeExporterSource(parse_host_metrics(url), 5.0)
    await source.read()
    await source.read()
    assert served.asked[1:] == ["/metrics", "/metrics"]


async def test_another_page_is_no_exporter(exporter: tuple[type[Exporter], str]) -> None:
    served, url = exporter
    served.page = "<html>hello</html>"
    with pytest.raises(HostSourceError, match="is not a node_exporter"):
        await NodeExporterSource(parse_host_metrics(url), 5.0).read()


async def test_an_unreachable_exporter_is_reported(exporter: tuple[type[Exporter], str]) -> None:
    with pytest.raises(HostSourceError, match=r"node_exporter 127\.0\.0\.1:1: .*refused"):
        await NodeExporterSource(parse_host_metrics("http://127.0.0.1:1"), 5.0).read()
