"""`tuibench web`: who is let in, what the page fetches, and what it runs."""

import asyncio
import fcntl
import json
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("textual_serve")

from textual_serve.server import Server

from tests.examples import summary
from tests.paths import DATA
from tests.unit.cli.program import Program
from tuibench.cli.commands import web
from tuibench.errors import UsageError
from tuibench.record.files.recorder import SAMPLES, SUMMARY


@pytest.mark.parametrize(
    ("host", "origin", "known"),
    [
        ("127.0.0.1:8000", "", True),
        ("localhost:8000", "http://localhost:8000", True),
        ("[::1]:8000", "http://[::1]:8000", True),
        ("127.0.0.1:8000", "http://localhost:8000", False),
        ("127.0.0.1:8000", "http://evil.example", False),
        ("127.0.0.1:8000", "null", False),
        ("evil.example:8000", "", False),
        ("evil.example:8000", "http://evil.example:8000", False),
    ],
)
def test_on_loopback_only_its_names_and_its_own_pages_are_known(host: str, origin: str, known: bool) -> None:
    assert web.is_allowed_request(host, origin, web.LOOPBACK_NAMES) is known


def test_where_everybody_may_come_a_page_from_elsewhere_still_may_not() -> None:
    assert web.is_allowed_request("db1:8000", "http://db1:8000", None)
    assert not web.is_allowed_request("db1:8000", "http://evil.example", None)


def test_a_page_looks_unless_it_is_to_steer() -> None:
    looks = web.viewer_command("s1", read_write=False)
    assert looks[:5] == [sys.executable, "-m", "tuibench", "attach", "s1"]
    assert looks[5:] == ["--read-only"]
    assert web.viewer_command("s1", read_write=True) == looks[:5]


async def asked(path: str, **headers: str) -> tuple[int, str]:
    """The status and the text of an answer of the page's server."""
    import aiohttp
    from aiohttp.test_utils import TestServer

    server = Server("true", "127.0.0.1", 8000, title="tuibench s1")
    async with (
        TestServer(web.make_application(server)) as tried,
        aiohttp.ClientSession() as session,
        session.get(tried.make_url(path), headers=headers) as answer,
    ):
        return answer.status, await answer.text()


def page(path: str = "/", **headers: str) -> tuple[int, str]:
    return asyncio.run(asked(path, **headers))


def test_the_page_fetches_nothing_from_elsewhere() -> None:
    status, text = page()
    assert status == 200
    assert "tuibench s1" in text
    assert "fonts.googleapis" not in text
    assert "/static/css/xterm.css" in text


@pytest.mark.parametrize("path", ["/", "/ws"])
@pytest.mark.parametrize("headers", [{"Origin": "http://evil.example"}, {"Host": "evil.example"}])
def test_strangers_are_turned_away(path: str, headers: dict[str, str]) -> None:
    assert page(path, **headers)[0] == 403


def test_without_textual_serve_the_remedy_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    with pytest.raises(UsageError) as error:
        web.require_textual_serve()
    assert (
        str(error.value) == "tuibench web needs textual-serve (pip install '.[web]' in the clone of tuibench)"
    )


def test_without_a_session_there_is_nothing_to_show(tuibench: Program, tuibench_home: Path) -> None:
    ended = tuibench("web", "--port=0")
    assert (ended.code, ended.out) == (3, "")
    assert "no session is running" in ended.err


@pytest.mark.parametrize("port", [-1, 65_536, 99_999, 10**9])
def test_a_port_out_of_range_is_refused_before_all_else(tuibench: Program, port: int) -> None:
    """No session is looked for: there is none."""
    ended = tuibench("web", f"--port={port}")
    assert (ended.code, ended.out) == (2, "")
    assert f"--port must be between 0 and 65535, not {port} (0 selects a free port)" in ended.err


def test_a_port_that_is_taken_is_named(monkeypatch: pytest.MonkeyPatch, tuibench: Program) -> None:
    import socket

    async def hello(_: Any) -> Any:
        from tests.examples import hello

        return hello()

    monkeypatch.setattr(web, "find_session_socket", lambda session: Path("/nowhere"))
    monkeypatch.setattr(web, "fetch_hello", hello)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = tuibench("web", f"--port={taken.getsockname()[1]}")
    assert ended.code == 1
    assert "cannot serve the screen at 127.0.0.1:" in ended.err


END_OF_TEMPLATE = """<div class="message">Session ended.</div>
        <button type="button" onClick="refresh()">Restart</button>"""


def test_the_end_of_a_page_leads_to_the_report() -> None:
    page = web.with_end_page(f"<body>{END_OF_TEMPLATE}</body>", has_report=True)
    assert "Restart" not in page
    assert "location.href='/report'" in page
    assert "/report" not in web.with_end_page(END_OF_TEMPLATE, has_report=False)


def test_a_page_opens_the_report_by_itself_once_the_run_is_over() -> None:
    page = web.with_end_page(f"<head></head><body>{END_OF_TEMPLATE}</body>", has_report=True)
    assert 'location.replace("/report")' in page.partition("</head>")[0]


async def test_the_library_still_has_the_end_that_is_replaced() -> None:
    status, page = await asked("/")
    assert status == 200
    assert "This screen has ended." in page
    assert page.count("</head>") == 1
    assert "Session ended." not in page


def test_a_run_that_goes_on_has_no_report_yet(tmp_path: Path) -> None:
    run = shutil.copytree(DATA / "durability-run", tmp_path / "run")
    report = web.RunReport(run)
    assert not report.is_finished
    with (run / SAMPLES).open("rb") as stream:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX)
        assert "The run continues" in report.html()
    assert "preset unsafe" in report.html()


@pytest.fixture
async def reporting(tmp_path: Path) -> AsyncIterator[Callable[..., Awaitable[tuple[int, str]]]]:
    """Asks the server of a page whose run is over; redirects are followed."""
    import aiohttp
    from aiohttp.test_utils import TestServer

    run = shutil.copytree(DATA / "durability-run", tmp_path / "run")
    (run / SUMMARY).write_bytes(msgspec.json.encode(summary()))
    server = Server("true", "127.0.0.1", 8000, title="tuibench s1")
    application = web.make_application(server, web.RunReport(run))
    async with TestServer(application) as tried, aiohttp.ClientSession() as session:

        async def ask(path: str, **headers: str) -> tuple[int, str]:
            async with session.get(tried.make_url(path), headers=headers) as answer:
                return answer.status, await answer.text()

        yield ask


async def test_the_report_is_served_to_our_own_pages_only(
    reporting: Callable[..., Awaitable[tuple[int, str]]],
) -> None:
    status, text = await reporting("/report")
    assert status == 200
    assert "preset unsafe" in text
    for path in ("/report", "/state"):
        assert (await reporting(path, Origin="http://evil.example"))[0] == 403


async def test_a_page_opened_after_the_run_is_its_report(
    reporting: Callable[..., Awaitable[tuple[int, str]]],
) -> None:
    """A viewer could only say that there is no session; the page would wait for its first character."""
    assert json.loads((await reporting("/state"))[1]) == {"finished": True}
    assert (await reporting("/"))[1] == (await reporting("/report"))[1]
