"""Prometheus endpoint of a session: an HTTP/1.1 server for a few pages, one response per connection.

It runs in the event loop of a session that measures, so the number of connections, and the size and the time
of a request are limited. prometheus_client's own server has none of these limits, starts a thread per
connection, and cannot respond 503 before the load runs. A scrape costs the run little: the event loop only
copies the figures; a thread renders the page.
"""

import asyncio
import contextlib
import socket
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from tuibench import __version__
from tuibench.base.errors import RunError
from tuibench.model.event import Event
from tuibench.model.message import Address, RunState, SessionMessage, Status
from tuibench.model.tick import SERVICE, TRANSACTION, Sample, Tick
from tuibench.session.load_run import LoadRun
from tuibench.session.run import WatchRun

if TYPE_CHECKING:
    from tuibench.record.prometheus import MetricsSnapshot

MAX_CONNECTIONS = 16
REQUEST_TIMEOUT_SECONDS = 5.0
LONGEST_REQUEST_BYTES = 1 << 14
PLAIN = "text/plain; charset=utf-8"
HINT = "choose another port, or 0 for any free port"


class HttpResponse(NamedTuple):
    """The body of a response, its content type and status."""

    body: bytes
    content_type: str = PLAIN
    status: HTTPStatus = HTTPStatus.OK


ContentSource = Callable[[str], Awaitable[HttpResponse | None]]
"""Returns a page in a format that the request accepts; None if there is no page yet."""


class HttpServer:
    """Serves pages by their path, from `open` to `close`."""

    def __init__(self, pages: Mapping[str, ContentSource]) -> None:
        self._pages = pages
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.url = ""

    async def open(self, address: Address) -> None:
        """Start to listen. Raises RunError if that is not possible."""
        sock = await asyncio.get_running_loop().run_in_executor(None, listen_tcp, address)
        host, port = sock.getsockname()[:2]
        self.url = f"http://{Address(host, port)}"
        self._server = await asyncio.start_server(self._on_connect, sock=sock, limit=LONGEST_REQUEST_BYTES)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for caller in list(self._connections):
            caller.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _on_connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None and len(self._connections) < MAX_CONNECTIONS:
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
            with contextlib.suppress(OSError, TimeoutError, asyncio.CancelledError, ValueError, EOFError):
                async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
                    try:
                        request = parse_request(await reader.readuntil(b"\r\n\r\n"))
                    except (ValueError, asyncio.LimitOverrunError):
                        request = None
                    answer = await self._answer(request)
                    writer.write(encode_response(answer, with_body=request is None or request[0] != "HEAD"))
                    await writer.drain()
        writer.close()

    async def _answer(self, request: tuple[str, str, str] | None) -> HttpResponse:
        if request is None:
            return _status_response(HTTPStatus.BAD_REQUEST)
        method, path, accept = request
        if method not in ("GET", "HEAD"):
            return _status_response(HTTPStatus.METHOD_NOT_ALLOWED)
        if path == "/":
            return _status_response(HTTPStatus.OK, "".join(f"{page}\n" for page in self._pages))
        source = self._pages.get(path)
        if source is None:
            return _status_response(HTTPStatus.NOT_FOUND)
        page = await source(accept)
        if page is None:
            return _status_response(HTTPStatus.SERVICE_UNAVAILABLE, "the load does not run yet\n")
        return page


def _status_response(status: HTTPStatus, text: str = "") -> HttpResponse:
    return HttpResponse((text or f"{status.phrase}\n").encode(), status=status)


def parse_request(head: bytes) -> tuple[str, str, str]:
    """Method and path of the request, and its Accept header. Raises ValueError for an invalid request."""
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, version = first.split(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError(version)
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    return method, target.partition("?")[0], headers.get("accept", "")


def encode_response(answer: HttpResponse, *, with_body: bool) -> bytes:
    body, content_type, status = answer
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        f"Content-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode("latin-1") + (body if with_body else b"")


def listen_tcp(address: Address, what: str = "metrics") -> socket.socket:
    """A listening socket. Raises RunError, with its purpose `what`, if that is not possible."""
    try:
        found = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, kind, protocol, _, name = min(found, key=lambda one: one[0] != socket.AF_INET)
        sock = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _unusable(address, what, error) from error
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(name)
        sock.listen()
        sock.setblocking(False)
    except OSError as error:
        sock.close()
        raise _unusable(address, what, error) from error
    return sock


def _unusable(address: Address, what: str, error: OSError) -> RunError:
    return RunError(f"cannot serve {what} at {address}: {error.strerror or error}", HINT)


METRICS = "/metrics"
UNMEASURED = frozenset({RunState.STARTING, RunState.WARMING})
"""States in which nothing is counted yet."""


class MetricsExporter:
    """Listens to a run, and renders its metrics at any time."""

    def __init__(self, run: LoadRun | WatchRun) -> None:
        # prometheus_client is slow to import: imported only for an endpoint, and before the first scrape.
        from tuibench.record import prometheus

        self._run = run
        self._prometheus = prometheus
        self._created_at = time.time()
        self._status: Status | None = None
        self._sample: Sample | None = None
        self._events: Counter[str] = Counter()
        run.watcher.bus.listeners.append(self._on_message)

    async def page(self, accept: str) -> HttpResponse | None:
        """The current page; None before the first status."""
        if self._status is None:
            return None
        return HttpResponse(
            *await asyncio.to_thread(self._prometheus.render_page, self._snapshot(self._status), accept)
        )

    def _snapshot(self, status: Status) -> "MetricsSnapshot":
        run = self._run
        # A session without load has no totals: the server's counters describe the traffic.
        return self._prometheus.MetricsSnapshot(
            version=__version__,
            session=run.spec.session,
            plan=run.spec.plan,
            where=run.spec.target.where,
            server=run.watcher.server,
            started_at=self._created_at,
            status=status,
            totals=self._load_totals(run, status.state) if isinstance(run, LoadRun) else None,
            traffic=run.watcher.account.total() if isinstance(run, WatchRun) else None,
            sample=self._sample,
            events=dict(self._events),
            use=run.effect_tracker.total_use,
        )

    def _load_totals(self, run: LoadRun, state: RunState) -> Tick:
        """The load's totals since the measurement began, by kind of transaction; zeros before."""
        total = Tick() if state in UNMEASURED else run.watcher.account.total().of_load
        hists = {TRANSACTION + name: total.of_kind(name) for name in run.load.weights}
        return Tick(sums=total.sums, hists=hists | {SERVICE: total.hist(SERVICE)})

    def _on_message(self, message: SessionMessage) -> None:
        match message:
            case Status():
                self._status = message
            case Sample():
                self._sample = message
            case Event():
                self._events[str(message.kind)] += 1
