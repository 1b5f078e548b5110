"""`tuibench web`: who is let in, what the page fetches, and what it runs."""

import asyncio
import fcntl
import json
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.examples import summary
from tests.paths import DATA
from tests.unit.cli.program import Program
from tuibench.base.errors import UsageError
from tuibench.base.own_process import own_command
from tuibench.cli import web, web_application
from tuibench.cli.web_application import ScreenServer, SessionState, WatchedSession
from tuibench.model.server import Flavour, Target
from tuibench.record.recorder import SAMPLES, SUMMARY
from tuibench.tuning.journal import Journal, JournalHeader, Settlement, journal_path

pytest.importorskip("textual_serve")


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
    assert web_application.is_allowed_request(host, origin, web_application.LOOPBACK_NAMES) is known


def test_where_everybody_may_come_a_page_from_elsewhere_still_may_not() -> None:
    assert web_application.is_allowed_request("db1:8000", "http://db1:8000", None)
    assert not web_application.is_allowed_request("db1:8000", "http://evil.example", None)


def test_a_page_looks_unless_it_is_to_steer() -> None:
    looks = web.viewer_command("s1", read_write=False)
    assert looks == own_command("tuibench", "attach", "s1", "--read-only")
    assert web.viewer_command("s1", read_write=True) == looks[:-1]


async def asked(path: str, **headers: str) -> tuple[int, str]:
    """The status and the text of an answer of the page's server."""
    import aiohttp
    from aiohttp.test_utils import TestServer

    server = ScreenServer("true", "127.0.0.1", 8000, title="tuibench s1")
    async with (
        TestServer(web_application.make_application(server)) as tried,
        aiohttp.ClientSession() as session,
        session.get(tried.make_url(path), headers=headers) as answer,
    ):
        return answer.status, await answer.text()


def page(path: str = "/", **headers: str) -> tuple[int, str]:
    return asyncio.run(asked(path, **headers))


def test_the_page_fetches_nothing_from_elsewhere() -> None:
    status, text = page()
    assert status == 200
    assert "<title>tuibench s1</title>" in text
    assert "fonts.googleapis" not in text
    assert "/static/css/xterm.css" in text


@pytest.mark.parametrize("path", ["/", "/ws"])
@pytest.mark.parametrize("headers", [{"Origin": "http://evil.example"}, {"Host": "evil.example"}])
def test_strangers_are_turned_away(path: str, headers: dict[str, str]) -> None:
    assert page(path, **headers)[0] == 403


def test_without_textual_serve_the_remedy_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tuibench.cli.web_application", None)
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


def test_a_page_whose_screen_is_closed_can_be_opened_again() -> None:
    page = web_application.with_end(f"<body>{END_OF_TEMPLATE}</body>", is_watched=False)
    assert "Restart" not in page
    assert "This screen has ended." in page
    assert "/state" not in page


def test_a_page_opens_the_end_by_itself_once_the_session_is_over() -> None:
    page = web_application.with_end(f"<head></head><body>{END_OF_TEMPLATE}</body>", is_watched=True)
    assert 'location.replace("/")' in page.partition("</head>")[0]


async def test_the_library_still_has_the_end_that_is_replaced() -> None:
    status, page = await asked("/")
    assert status == 200
    assert "This screen has ended." in page
    assert page.count("</head>") == 1
    assert "Session ended." not in page


async def test_a_viewer_that_ends_before_its_first_output_closes_its_page() -> None:
    """Otherwise the page would show its logo for ever. The viewer is `true` here."""
    import aiohttp
    from aiohttp.test_utils import TestServer

    server = ScreenServer("true", "127.0.0.1", 8000, title="tuibench s1")
    async with (
        TestServer(web_application.make_application(server)) as tried,
        aiohttp.ClientSession() as session,
        session.ws_connect(tried.make_url("/ws?width=x&height=36")) as line,
    ):
        assert (await line.receive()).type is aiohttp.WSMsgType.CLOSE


@pytest.fixture
def watched(tmp_path: Path, tuibench_home: Path) -> WatchedSession:
    """A session that is gone; its record has no summary."""
    run = shutil.copytree(DATA / "durability-run", tmp_path / "run")
    (run / SUMMARY).unlink(missing_ok=True)
    return WatchedSession("s1", tmp_path / "s1.sock", run)


def test_a_run_that_goes_on_has_no_report_yet(watched: WatchedSession) -> None:
    with (watched.directory / SAMPLES).open("rb") as stream:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX)
        assert watched.state() is SessionState.RUNNING
        assert "The run continues" in watched.report_page()
    assert "preset unsafe" in watched.report_page()


def test_a_session_that_cannot_record_is_still_running(watched: WatchedSession) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(watched.socket))
        listener.listen()
        assert watched.state() is SessionState.RUNNING
    assert watched.state() is SessionState.LOST


def test_a_summary_is_the_end_of_a_session(watched: WatchedSession) -> None:
    (watched.directory / SUMMARY).write_bytes(msgspec.json.encode(summary()))
    assert watched.state() is SessionState.FINISHED


def header() -> JournalHeader:
    return JournalHeader(
        session="s1",
        pid=4711,
        started=0.0,
        target=Target(host="db1"),
        identity="db1:3306:/var/lib/mysql/",
        flavour=Flavour.MARIADB,
    )


def test_the_page_of_a_lost_session_says_what_is_recorded(watched: WatchedSession) -> None:
    page = watched.lost_page()
    assert "The process of session s1 was killed" in page
    assert f"are recorded in {watched.directory}" in page
    assert 'href="/report"' in page
    assert f"tuibench replay {watched.directory}\ntuibench report {watched.directory}" in page
    assert "This session has left no setting of the server changed." in page
    assert "location.reload" not in page


def test_a_lost_session_without_a_record_has_no_report(watched: WatchedSession) -> None:
    shutil.rmtree(watched.directory)
    page = watched.lost_page()
    assert "Nothing of the run is recorded" in page
    assert "/report" not in page


def test_the_page_of_a_lost_session_says_what_became_of_its_settings(watched: WatchedSession) -> None:
    journal = Journal(journal_path("s1"), header())
    change = journal.change("sync_binlog", "1", "0", at=1.0)
    assert "The guardian process is restoring the settings now." in watched.lost_page()
    journal.close()
    page = watched.lost_page()
    assert "Not restored yet: sync_binlog 1 → 0 on db1" in page
    assert "tuibench restore" in page
    assert "location.reload" in page
    later = Journal.claim(journal_path("s1"))
    assert later is not None
    later.settle((change.seq,), Settlement.RESTORED, at=2.0)
    later.close()
    assert "This session has left no setting of the server changed" in watched.lost_page()


def test_settings_that_another_session_will_restore_are_said_to_be_left_to_it(
    watched: WatchedSession,
) -> None:
    journal = Journal(journal_path("s1"), header())
    journal.change("sync_binlog", "1", "0", at=1.0)
    journal.close()
    other = Journal(journal_path("s2"), msgspec.structs.replace(header(), session="s2"))
    other.change("sync_binlog", "0", "100", at=2.0)
    left = web_application.settings_left("s1")
    other.close()
    expected = "Another session has changed the same settings, and restores them at its end."
    assert left == (expected, False)


Ask = Callable[..., Awaitable[tuple[int, str]]]


@pytest.fixture
async def asking(watched: WatchedSession) -> AsyncIterator[Ask]:
    """Asks the server of the session's page; redirects are followed."""
    import aiohttp
    from aiohttp.test_utils import TestServer

    server = ScreenServer("true", "127.0.0.1", 8000, title="tuibench s1")
    made = web_application.make_application(server, watched)
    async with TestServer(made) as tried, aiohttp.ClientSession() as session:

        async def ask(path: str, **headers: str) -> tuple[int, str]:
            async with session.get(tried.make_url(path), headers=headers) as answer:
                return answer.status, await answer.text()

        yield ask


async def test_the_report_is_served_to_our_own_pages_only(asking: Ask) -> None:
    status, text = await asking("/report")
    assert status == 200
    assert "preset unsafe" in text
    for path in ("/report", "/state"):
        assert (await asking(path, Origin="http://evil.example"))[0] == 403


async def test_a_page_opened_after_the_run_is_its_report(asking: Ask, watched: WatchedSession) -> None:
    """A viewer could only say that there is no session."""
    (watched.directory / SUMMARY).write_bytes(msgspec.json.encode(summary()))
    assert json.loads((await asking("/state"))[1]) == {"state": "finished"}
    assert (await asking("/"))[1] == (await asking("/report"))[1]


async def test_a_page_opened_after_its_session_was_killed_says_so(asking: Ask) -> None:
    assert json.loads((await asking("/state"))[1]) == {"state": "lost"}
    status, text = await asking("/")
    assert status == 200
    assert "This session has ended without a summary" in text
