"""The pages of `tuibench web`: the screen, the report at the end of the run, and who may request them.

Imported only if textual-serve is installed.
"""

import asyncio
import copy
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, cast
from urllib.parse import urlsplit

import aiohttp_jinja2
import jinja2
from aiohttp import web as http
from textual_serve.app_service import AppService
from textual_serve.server import Server

from tuibench.cli.commands.web_run_end import SessionState, WatchedSession
from tuibench.errors import TuibenchError

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

EXTERNAL_LINKS = re.compile(r"<link[^>]*https://fonts\.[^>]*>")
"""External resources of the page, removed because it would wait for them on a host without internet."""

DEFAULT_COLUMNS, DEFAULT_ROWS = 80, 24
HEARTBEAT_SECONDS = 15.0

CLOSED_DIALOG = re.compile(r'<div class="message">Session ended\.</div>\s*<button[^>]*>Restart</button>')
END_DIALOG = """<div class="message">This screen has ended.</div>
        <button type="button" onClick="refresh()">Open it again</button>"""

HEAD = '<title>{title}</title>\n    <link rel="icon" href="data:,">\n  </head>'
"""Ends the head of the page: the library's has no title, and the browser would request an icon."""

END_SCRIPT = """<script>
      setInterval(async () => {
        const page = document.body.classList;
        if (page.contains("-first-byte") && !page.contains("-closed")) return;
        const { state } = await (await fetch("/state")).json();
        if (state !== "running") location.replace("/");
      }, 1000);
    </script>
  </head>"""
"""Opens the page of the end once the session has ended and its screen is closed, or was never shown."""


class Viewer(AppService):
    """The viewer process of a page. Its page is closed with it, even if it ends before its first output."""

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
                # `wait` does not wait for the pipes: what is left of them would be reported as leaked.
                process._transport.close()


class ScreenServer(Server):
    """Serves a screen; each page has a viewer that closes the page when it ends."""

    async def handle_websocket(self, request: http.Request) -> http.WebSocketResponse:
        websocket = http.WebSocketResponse(heartbeat=HEARTBEAT_SECONDS)
        await websocket.prepare(request)
        viewer = Viewer(
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
    """The server's pages and its web socket, restricted to requests from its own page.

    A foreign page may open a connection to any address, including this host's loopback; the browser reports
    its origin in `Origin`. `Host` reveals a foreign name for this address (DNS rebinding). The page leads to
    the end of the `session`.
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
    """The page with our own words at its end; if the session is watched, it opens what follows by itself."""
    ended = CLOSED_DIALOG.sub(END_DIALOG, page)
    return ended.replace("</head>", END_SCRIPT, 1) if is_watched else ended


def is_allowed_request(host: str, origin: str, names: Sequence[str] | frozenset[str] | None) -> bool:
    """True if a request used one of our host names, from a page of ours; `names` is None for any name."""
    if origin and urlsplit(origin).netloc != host:
        return False
    return names is None or urlsplit(f"//{host}").hostname in names


def _add_report(
    application: http.Application, session: WatchedSession, demand_known: Callable[[http.Request], None]
) -> None:
    """Serve the report, and the state of the session."""

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
