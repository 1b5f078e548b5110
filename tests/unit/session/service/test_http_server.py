"""The small web server: what it answers, whom it turns away, and what it says when it cannot listen."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest

from tuibench.errors import RunError
from tuibench.session.service import http_server as module
from tuibench.session.service.http_server import (
    LONGEST_REQUEST_BYTES,
    MAX_CONNECTIONS,
    HttpContent,
    HttpServer,
)
from tuibench.session.spec import Address

ANY = Address("127.0.0.1", 0)


async def greet(accept: str) -> HttpContent | None:
    return HttpContent(f"accepts {accept}".encode(), "text/special")


async def too_early(_: str) -> HttpContent | None:
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
