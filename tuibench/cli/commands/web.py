"""`tuibench web`: serves a running session's screen in the browser, read-only unless control is enabled.

Each opened page has a viewer process of its own, which attaches like any other. The session itself refuses
commands from read-only viewers.
"""

import asyncio
import copy
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast
from urllib.parse import urlsplit

from tuibench.cli.output.log import info
from tuibench.cli.parsing.declarations import Argument, Option
from tuibench.cli.runner.event_loop import run_async
from tuibench.cli.runner.session_lookup import fetch_hello, find_session_socket
from tuibench.errors import TuibenchError, UsageError
from tuibench.session.service.http_server import listen_tcp
from tuibench.session.spec import Address

if TYPE_CHECKING:
    from textual_serve.server import Server

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
LOOPBACK = "127.0.0.1"
PORT = 8000
MAX_PORT = 65_535
SHUTDOWN_SECONDS = 1.0
"""Time limit for open pages to close at the end."""

EXTERNAL_LINKS = re.compile(r"<link[^>]*https://fonts\.[^>]*>")
"""External resources of the page, removed because it would wait for them on a host without internet."""

DETAILS = (
    "The page is served on this host's loopback interface unless --host gives another address. It has no "
    "password, so use --host only where everyone may see it. Ctrl-C ends the page; the session continues."
)


def web(
    session: Annotated[
        str, Argument(metavar="[ID]", help="Id of the session, or a unique part of it.", show_default=False)
    ] = "",
    host: Annotated[str, Option("--host", help="Address to listen on.")] = LOOPBACK,
    port: Annotated[int, Option("--port", help="Port; 0 for any free port.")] = PORT,
    read_write: Annotated[
        bool, Option("--read-write", help="Allow the page to control the session.")
    ] = False,
) -> None:
    if not 0 <= port <= MAX_PORT:
        raise UsageError(f"--port must be between 0 and {MAX_PORT}, not {port}", "0 selects a free port")
    server_class = require_textual_serve()
    hello = run_async(fetch_hello(find_session_socket(session)))
    name = hello.session
    sock = listen_tcp(Address(host, port), "the screen")
    with sock:
        address = Address(*sock.getsockname()[:2])
        command = shlex.join(viewer_command(name, read_write=read_write))
        server = server_class(command, *address, title=f"tuibench {name}")
        access = "read-write" if read_write else "read-only"
        info(f"{name} at http://{address}, {access}; Ctrl-C ends this page, not the session")
        serve_page(server, sock, RunReport(Path(hello.run_directory)))


def viewer_command(session: str, *, read_write: bool) -> list[str]:
    """Command line of a page's viewer."""
    return [sys.executable, "-m", "tuibench", "attach", session, *([] if read_write else ["--read-only"])]


def require_textual_serve() -> type["Server"]:
    """Class that serves a screen. Raises UsageError if textual-serve is not installed."""
    try:
        from textual_serve.server import Server
    except ImportError as error:
        raise UsageError(
            "tuibench web needs textual-serve", "pip install '.[web]' in the clone of tuibench"
        ) from error
    return Server


def serve_page(server: "Server", sock: Any, report: "RunReport") -> None:
    """Serve until interrupted."""
    from aiohttp import web as http

    http.run_app(make_application(server, report), sock=sock, print=None, shutdown_timeout=SHUTDOWN_SECONDS)


class RunReport(NamedTuple):
    """Report of the session's run, which is complete once the run has finished."""

    directory: Path

    @property
    def is_finished(self) -> bool:
        from tuibench.record.files.recorder import SUMMARY

        return (self.directory / SUMMARY).exists()

    def html(self) -> str:
        """The report, also of a session that was killed; while the run continues, a page that says so."""
        from tuibench.record.files.loading import load_run
        from tuibench.record.html.markup import tag
        from tuibench.record.html.page import html_page, html_report

        run = load_run(self.directory)
        if not run.is_live:
            return html_report(run)
        words = "The run continues: its report comes at its end."
        return html_page("The run continues", tag("main", tag("p", words)))


CLOSED_DIALOG = re.compile(r'<div class="message">Session ended\.</div>\s*<button[^>]*>Restart</button>')
END_DIALOG = """<div class="message">This screen has ended.</div>
        {report}<button type="button" onClick="refresh()">Open it again</button>"""
REPORT_LINK = """<button type="button" onClick="location.href='/report'">Summary and report</button>
        """


TO_REPORT = """<script>
      setInterval(async () => {
        const page = document.body.classList;
        if (page.contains("-first-byte") && !page.contains("-closed")) return;
        const state = await (await fetch("/state")).json();
        if (state.finished) location.replace("/report");
      }, 1000);
    </script>
  </head>"""
"""Opens the report once the run has finished and its screen is closed, or was never shown."""


def with_end_page(page: str, *, has_report: bool) -> str:
    """The page, which ends with the report of the run, or with a dialog if the run continues."""
    ended = CLOSED_DIALOG.sub(END_DIALOG.format(report=REPORT_LINK if has_report else ""), page)
    return ended.replace("</head>", TO_REPORT, 1) if has_report else ended


def make_application(server: "Server", report: RunReport | None = None) -> Any:
    """The server's pages and its web socket, restricted to requests from its own page.

    A foreign page may open a connection to any address, including this host's loopback; the browser reports
    its origin in `Origin`. `Host` reveals a foreign name for this address (DNS rebinding). The page ends with
    the `report`.
    """
    from aiohttp import web as http

    names = LOOPBACK_NAMES if server.host in LOOPBACK_NAMES else None

    def demand_known(request: http.Request) -> None:
        if not is_allowed_request(request.host, request.headers.get("Origin", ""), names):
            raise http.HTTPForbidden(text="this page is not served under that name\n")

    async def index(request: http.Request) -> http.StreamResponse:
        demand_known(request)
        if report is not None and report.is_finished:
            raise http.HTTPFound("/report")
        here = copy.copy(server)
        here.public_url = f"{request.scheme}://{request.host}"
        page: Any = await type(server).handle_index(here, request)
        page.text = with_end_page(EXTERNAL_LINKS.sub("", page.text), has_report=report is not None)
        return cast("http.StreamResponse", page)

    async def line(request: http.Request) -> http.StreamResponse:
        demand_known(request)
        return await server.handle_websocket(request)

    import aiohttp_jinja2
    import jinja2

    made = http.Application()
    aiohttp_jinja2.setup(made, loader=jinja2.FileSystemLoader(server.templates_path))
    made.add_routes(
        [
            http.get("/", index, name="index"),
            http.get("/ws", line, name="websocket"),
            http.static("/static", server.statics_path, name="static"),
        ]
    )
    if report is not None:
        _add_report(made, report, demand_known)
    return made


def _add_report(application: Any, report: RunReport, demand_known: Callable[[Any], None]) -> None:
    """Serve the report, and whether the run has finished."""
    from aiohttp import web as http

    async def end(request: http.Request) -> http.StreamResponse:
        demand_known(request)
        try:
            text = await asyncio.to_thread(report.html)
        except TuibenchError as error:
            return http.Response(text=f"{error}\n", status=503)
        return http.Response(text=text, content_type="text/html")

    async def state(request: http.Request) -> http.StreamResponse:
        demand_known(request)
        return http.json_response({"finished": report.is_finished})

    application.add_routes([http.get("/report", end), http.get("/state", state)])


def is_allowed_request(host: str, origin: str, names: Sequence[str] | frozenset[str] | None) -> bool:
    """True if a request used one of our host names, from a page of ours; `names` is None for any name."""
    if origin and urlsplit(origin).netloc != host:
        return False
    return names is None or urlsplit(f"//{host}").hostname in names
