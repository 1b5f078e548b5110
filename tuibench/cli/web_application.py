"""The pages of `tuibench web`: the screen, the pages at the end of the run, and the checks of requests.

A session that ends by itself leaves a summary, which the report page shows. A killed session leaves none. Its
page says what happened, what was recorded, and whether settings are still changed.

Requires textual-serve.
"""

import asyncio
import contextlib
import copy
import re
import shlex
from collections.abc import Callable, Sequence
from enum import StrEnum
from html import escape
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

import aiohttp_jinja2
import jinja2
from aiohttp import web as http
from textual_serve.app_service import AppService
from textual_serve.server import Server

from tuibench.base import paths
from tuibench.base.document import Shape, Text
from tuibench.base.errors import RunError, TuibenchError
from tuibench.base.units import hms, pluralize
from tuibench.base.unix_sockets import is_listening
from tuibench.record.reader import Run, is_being_written, load_run
from tuibench.record.recorder import SUMMARY
from tuibench.report.html_chart import Markup, block_markup, join_markup, tag
from tuibench.report.html_plots import html_page
from tuibench.report.run_report import html_report
from tuibench.tuning import journal
from tuibench.tuning.journal import journal_path
from tuibench.tuning.restore import leftovers

RELOAD = tag("script", Markup("setTimeout(() => location.reload(), 2000);"))
"""A script that reloads the page, used until all settings are restored."""


class SessionState(StrEnum):
    """The state of a session; `LOST` is one that has ended without a summary."""

    RUNNING = "running"
    FINISHED = "finished"
    LOST = "lost"


class WatchedSession(NamedTuple):
    """A session and the record of its run."""

    name: str
    socket: Path
    directory: Path

    def state(self) -> SessionState:
        """The current state. The order of the checks matters: a session writes its summary before it ends."""
        is_alive = is_listening(self.socket) or is_being_written(self.directory)
        if (self.directory / SUMMARY).exists():
            return SessionState.FINISHED
        return SessionState.RUNNING if is_alive else SessionState.LOST

    def report_page(self) -> str:
        """The page with the report, also of a killed session; while the run continues, a page that says so.

        Raises RunError if the record cannot be read.
        """
        run = load_run(self.directory)
        if not run.is_live:
            return html_report(run)
        words = "The run continues. Its report appears here when the run has ended."
        return html_page("The run continues", tag("main", tag("p", words)))

    def lost_page(self) -> str:
        """The page about a session that has ended without a summary."""
        left, is_open = settings_left(self.name)
        return html_page(
            f"{self.name} has ended",
            tag(
                "main",
                tag("h1", "This session has ended without a summary"),
                tag(
                    "p",
                    f"The process of session {self.name} was killed, or it could not write its record. "
                    "Its load has ended with it.",
                ),
                _record_section(self.directory),
                tag("h2", "Settings"),
                tag("p", left),
            ),
            RELOAD if is_open else None,
        )


def settings_left(session: str) -> tuple[str, bool]:
    """A text about the settings that an ended session left changed, from its journal; and True if some are
    not restored yet.
    """
    path = journal_path(session)
    if not path.exists():
        return "This session has left no setting of the server changed.", False
    if journal.is_locked(path):
        return "The guardian process is restoring the settings now.", True
    found = [each for each in leftovers() if each.path == path]
    if found:
        texts = "; ".join(each.text for each in found)
        return f"Not restored yet: {texts}. The command tuibench restore restores them.", True
    return "Another session has changed the same settings, and restores them at its end.", False


def _record_section(directory: Path) -> Markup:
    """A section about the record, and the command that shows it."""
    title = tag("h2", "Record")
    run: Run | None = None
    with contextlib.suppress(RunError):
        run = load_run(directory)
    if run is None or not run.samples:
        return join_markup(title, tag("p", f"Nothing of the run is recorded in {directory}."))
    seconds = run.samples[-1].elapsed_seconds
    words = f"{pluralize(len(run.samples), 'sample')} up to {hms(seconds)} are recorded in {directory}."
    is_known = directory.parent == paths.runs_dir()
    name = shlex.quote(directory.name if is_known else str(directory))
    return join_markup(
        title,
        tag("p", words),
        tag("p", tag("a", "Open the report of these samples", href="/report")),
        tag("p", "On the host of the session:"),
        block_markup(Text((f"tuibench replay {name}", f"tuibench report {name}"), Shape.CODE)),
    )


LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

EXTERNAL_LINKS = re.compile(r"<link[^>]*https://fonts\.[^>]*>")
"""External resources of the page. They are removed, because without internet the page would wait for them."""

DEFAULT_COLUMNS, DEFAULT_ROWS = 80, 24
HEARTBEAT_SECONDS = 15.0

CLOSED_DIALOG = re.compile(r'<div class="message">Session ended\.</div>\s*<button[^>]*>Restart</button>')
END_DIALOG = """<div class="message">This screen has ended.</div>
        <button type="button" onClick="refresh()">Open it again</button>"""

HEAD = '<title>{title}</title>\n    <link rel="icon" href="data:,">\n  </head>'
"""The end of the page's head, with a title, which the library omits, and an empty icon, which the browser
would request otherwise.
"""

END_SCRIPT = """<script>
      setInterval(async () => {
        const page = document.body.classList;
        if (page.contains("-first-byte") && !page.contains("-closed")) return;
        const { state } = await (await fetch("/state")).json();
        if (state !== "running") location.replace("/");
      }, 1000);
    </script>
  </head>"""
"""A script that opens the page of the end when the session has ended and its screen is not shown (any
more).
"""


class PageViewer(AppService):
    """The viewer process of a page. The page is closed when it ends, even before its first output."""

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            process: Any = self._process
            try:
                await self.remote_close()
                process.stdin.close()
                await process.wait()
            finally:
                # `wait` does not wait for the pipes, which would be reported as leaked.
                process._transport.close()


class ScreenServer(Server):
    """Serves a screen with a `PageViewer` for each page."""

    async def handle_websocket(self, request: http.Request) -> http.WebSocketResponse:
        websocket = http.WebSocketResponse(heartbeat=HEARTBEAT_SECONDS)
        await websocket.prepare(request)
        viewer = PageViewer(
            self.command,
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=cast("Any", websocket.close),
            download_manager=self.download_manager,
        )
        await viewer.start(_size(request, "width", DEFAULT_COLUMNS), _size(request, "height", DEFAULT_ROWS))
        try:
            await self._process_messages(websocket, viewer)
        finally:
            await viewer.stop()
        return websocket


def make_application(server: Server, session: WatchedSession | None = None) -> http.Application:
    """The server's pages and its web socket, restricted to requests from its own pages.

    A foreign page can open connections to any address, including this host's loopback. The browser sends the
    origin of such a page in `Origin`; a foreign name of this host (DNS rebinding) appears in `Host`. At the
    end of the `session`, the page opens its report.
    """
    names = LOOPBACK_NAMES if server.host in LOOPBACK_NAMES else None

    def demand_known(request: http.Request) -> None:
        if not is_allowed_request(request.host, request.headers.get("Origin", ""), names):
            raise http.HTTPForbidden(text="this page is not served under that name\n")

    async def index(request: http.Request) -> http.StreamResponse:
        demand_known(request)
        state = session.state() if session is not None else SessionState.RUNNING
        if state is SessionState.FINISHED:
            raise http.HTTPFound("/report")
        if state is SessionState.LOST and session is not None:
            return _html(await asyncio.to_thread(session.lost_page))
        here = copy.copy(server)
        here.public_url = f"{request.scheme}://{request.host}"
        page: Any = await type(server).handle_index(here, request)
        text = EXTERNAL_LINKS.sub("", page.text).replace(
            "</head>", HEAD.format(title=escape(server.title)), 1
        )
        page.text = with_end(text, is_watched=session is not None)
        return cast("http.StreamResponse", page)

    async def line(request: http.Request) -> http.StreamResponse:
        demand_known(request)
        return await server.handle_websocket(request)

    made = http.Application()
    aiohttp_jinja2.setup(made, loader=jinja2.FileSystemLoader(server.templates_path))
    made.add_routes(
        [
            http.get("/", index, name="index"),
            http.get("/ws", line, name="websocket"),
            http.static("/static", server.statics_path, name="static"),
        ]
    )
    if session is not None:
        _add_report(made, session, demand_known)
    return made


def with_end(page: str, *, is_watched: bool) -> str:
    """The page with our own texts; if a session is watched, it opens the page of the end by itself."""
    ended = CLOSED_DIALOG.sub(END_DIALOG, page)
    return ended.replace("</head>", END_SCRIPT, 1) if is_watched else ended


def is_allowed_request(host: str, origin: str, names: Sequence[str] | frozenset[str] | None) -> bool:
    """True if a request used one of our host names and comes from our page; `names` is None for any name."""
    if origin and urlsplit(origin).netloc != host:
        return False
    return names is None or urlsplit(f"//{host}").hostname in names


def _add_report(
    application: http.Application, session: WatchedSession, demand_known: Callable[[http.Request], None]
) -> None:
    """Add the report and the state of the session to the served pages."""

    async def report(request: http.Request) -> http.StreamResponse:
        demand_known(request)
        try:
            return _html(await asyncio.to_thread(session.report_page))
        except TuibenchError as error:
            return http.Response(text=f"{error}\n", status=503)

    async def state(request: http.Request) -> http.StreamResponse:
        demand_known(request)
        return http.json_response({"state": session.state()})

    application.add_routes([http.get("/report", report), http.get("/state", state)])


def _html(text: str) -> http.Response:
    return http.Response(text=text, content_type="text/html")


def _size(request: http.Request, name: str, default: int) -> int:
    text = request.query.get(name, "")
    return int(text) if text.isdecimal() else default
