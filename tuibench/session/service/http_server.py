"""An HTTP/1.1 server for a few pages: GET and HEAD, one response per connection.

It runs in the event loop of a session that measures, so the number of connections, the size of a request and
its time are limited. prometheus_client's own server has none of these limits, starts a thread per connection,
and cannot respond 503 before the load runs.
"""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple

from tuibench.errors import RunError
from tuibench.session.spec import Address

MAX_CONNECTIONS = 16
REQUEST_TIMEOUT_SECONDS = 5.0
LONGEST_REQUEST_BYTES = 1 << 14
PLAIN = "text/plain; charset=utf-8"
HINT = "choose another port, or 0 for any free port"


class HttpContent(NamedTuple):
    """The body of a response and its content type."""

    body: bytes
    content_type: str = PLAIN


ContentSource = Callable[[str], Awaitable[HttpContent | None]]
"""Makes a page in a format that the request accepts; None if it is too early for one."""


class HttpRequest(NamedTuple):
    """The relevant part of a request."""

    method: str
    path: str
    accept: str


class HttpResponse(NamedTuple):
    status: HTTPStatus
    page: HttpContent


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
        """Close all connections."""
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
                    await self._serve(reader, writer)
        writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = parse_request(await reader.readuntil(b"\r\n\r\n"))
        except (ValueError, asyncio.LimitOverrunError):
            request = None
        answer = await self._answer(request)
        writer.write(encode_response(answer, with_body=request is None or request.method != "HEAD"))
        await writer.drain()

    async def _answer(self, request: HttpRequest | None) -> HttpResponse:
        if request is None:
            return _status_response(HTTPStatus.BAD_REQUEST)
        if request.method not in ("GET", "HEAD"):
            return _status_response(HTTPStatus.METHOD_NOT_ALLOWED)
        if request.path == "/":
            return _status_response(HTTPStatus.OK, "".join(f"{path}\n" for path in self._pages))
        source = self._pages.get(request.path)
        if source is None:
            return _status_response(HTTPStatus.NOT_FOUND)
        page = await source(request.accept)
        if page is None:
            return _status_response(HTTPStatus.SERVICE_UNAVAILABLE, "the load does not run yet\n")
        return HttpResponse(HTTPStatus.OK, page)


def _status_response(status: HTTPStatus, text: str = "") -> HttpResponse:
    return HttpResponse(status, HttpContent((text or f"{status.phrase}\n").encode()))


def parse_request(head: bytes) -> HttpRequest:
    """The request line and the relevant header. Raises ValueError for an invalid request."""
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, version = first.split(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError(version)
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    return HttpRequest(method, target.partition("?")[0], headers.get("accept", ""))


def encode_response(answer: HttpResponse, *, with_body: bool) -> bytes:
    """The response as bytes."""
    status, page = answer
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        f"Content-Type: {page.content_type}\r\n"
        f"Content-Length: {len(page.body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode("latin-1") + (page.body if with_body else b"")


def listen_tcp(address: Address, what: str = "metrics") -> socket.socket:
    """A listening socket. Raises RunError, with its purpose, if that is not possible."""
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
