"""`tuibench web`: a running session's screen in the browser, to look at; to steer only if that is asked for.

Each page that is opened gets a viewer of its own, a process like any other that attaches. The session itself
refuses commands from those that may only look.
"""

import copy
import re
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast
from urllib.parse import urlsplit

from tuibench.cli.output.log import info
from tuibench.cli.parsing.declarations import Argument, Option
from tuibench.cli.runner.event_loop import run_async
from tuibench.cli.runner.session_lookup import fetch_hello, find_session_socket
from tuibench.errors import UsageError
from tuibench.session.service.http_server import listen_tcp
from tuibench.session.spec import Address

if TYPE_CHECKING:
    from textual_serve.server import Server

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
LOOPBACK = "127.0.0.1"
PORT = 8000
MAX_PORT = 65_535
SHUTDOWN_SECONDS = 1.0
"""How long open pages may take to leave at the end."""

EXTERNAL_LINKS = re.compile(r"<link[^>]*https://fonts\.[^>]*>")
"""What the page would fetch from elsewhere: it would wait for it on a host without internet."""

DETAILS = (
    "The page is served on this host's loopback unless --host names another address; nobody asks for a "
    "password there, so name one only where everybody may see it. Ctrl-C ends it; the session goes on."
)


def web(
    session: Annotated[str, Argument(metavar="[ID]", help="Which session.", show_default=False)] = "",
    host: Annotated[str, Option("--host", help="Address to listen on.")] = LOOPBACK,
    port: Annotated[int, Option("--port", help="Port; 0 for any that is free.")] = PORT,
    read_write: Annotated[bool, Option("--read-write", help="The page may steer the session, too.")] = False,
) -> None:
    if not 0 <= port <= MAX_PORT:
        raise UsageError(f"--port must be between 0 and {MAX_PORT}, not {port}", "0 takes any that is free")
    server_class = require_textual_serve()
    name = run_async(fetch_hello(find_session_socket(session))).session
    sock = listen_tcp(Address(host, port), "the screen")
    with sock:
        address = Address(*sock.getsockname()[:2])
        command = shlex.join(viewer_command(name, read_write=read_write))
        server = server_class(command, *address, title=f"tuibench {name}")
        access = "to steer" if read_write else "read-only"
        info(f"{name} at http://{address}, {access}; Ctrl-C ends this page, not the session")
        serve_page(server, sock)


def viewer_command(session: str, *, read_write: bool) -> list[str]:
    """The command that a page runs."""
    return [sys.executable, "-m", "tuibench", "attach", session, *([] if read_write else ["--read-only"])]


def require_textual_serve() -> type["Server"]:
    """What serves a screen. Raises UsageError where it is not installed."""
    try:
        from textual_serve.server import Server
    except ImportError as error:
        raise UsageError(
            "tuibench web needs textual-serve", "pip install '.[web]' in the clone of tuibench"
        ) from error
    return Server


def serve_page(server: "Server", sock: Any) -> None:
    """Serves until it is interrupted."""
    from aiohttp import web as http

    http.run_app(make_application(server), sock=sock, print=None, shutdown_timeout=SHUTDOWN_SECONDS)


def make_application(server: "Server") -> Any:
    """The server's pages and its line to the viewers, for those only who come to them by our own page.

    A page from elsewhere may open a line to any address, this host's loopback included; the browser says in
    `Origin` where it is from. A name that was made to point here is told by `Host`.
    """
    from aiohttp import web as http

    names = LOOPBACK_NAMES if server.host in LOOPBACK_NAMES else None

    def demand_known(request: http.Request) -> None:
        if not is_allowed_request(request.host, request.headers.get("Origin", ""), names):
            raise http.HTTPForbidden(text="this page is not served under that name\n")

    async def index(request: http.Request) -> http.StreamResponse:
        demand_known(request)
        here = copy.copy(server)
        here.public_url = f"{request.scheme}://{request.host}"
        page: Any = await type(server).handle_index(here, request)
        page.text = EXTERNAL_LINKS.sub("", page.text)
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
    return made


def is_allowed_request(host: str, origin: str, names: Sequence[str] | frozenset[str] | None) -> bool:
    """Whether a request came to a name of ours, from a page of ours; `names` is None for any name."""
    if origin and urlsplit(origin).netloc != host:
        return False
    return names is None or urlsplit(f"//{host}").hostname in names
