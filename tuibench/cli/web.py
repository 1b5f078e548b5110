"""`tuibench web`: serves the screen of a running session to browsers, read-only unless control is enabled.

Each opened page has its own viewer process, which attaches to the session like any other viewer. The session
itself refuses commands of read-only viewers.
"""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuibench.base.errors import UsageError
from tuibench.base.own_process import own_command
from tuibench.cli import candidates
from tuibench.cli.output import info
from tuibench.cli.runner import fetch_hello, find_session_socket, run_async
from tuibench.model.message import Address
from tuibench.session.http import listen_tcp

if TYPE_CHECKING:
    from tuibench.cli.web_application import ScreenServer


LOOPBACK = "127.0.0.1"
PORT = 8000
MAX_PORT = 65_535
SHUTDOWN_SECONDS = 1.0
"""Time limit for open pages to close at the end."""


def web(
    session: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.sessions,
            metavar="[ID]",
            help="Id of the session, or a unique part of it.",
            show_default=False,
        ),
    ] = "",
    host: Annotated[str, typer.Option(metavar="HOST", help="Address to listen on.")] = LOOPBACK,
    port: Annotated[int, typer.Option(metavar="PORT", help="Port; 0 for any free port.")] = PORT,
    read_write: Annotated[
        bool, typer.Option("--read-write", help="Allow the page to control the session.")
    ] = False,
) -> None:
    """The page is served on this host's loopback interface unless --host gives another address. It has no
    password, so use --host only where everyone may see it. Ctrl-C ends the page; the session continues.
    When the run has ended, the page opens its report.
    """
    if not 0 <= port <= MAX_PORT:
        raise UsageError(f"--port must be between 0 and {MAX_PORT}, not {port}", "0 selects a free port")
    server_class = require_textual_serve()
    socket = find_session_socket(session)
    hello = run_async(fetch_hello(socket))
    name = hello.session
    sock = listen_tcp(Address(host, port), "the screen")
    with sock:
        address = Address(*sock.getsockname()[:2])
        command = shlex.join(viewer_command(name, read_write=read_write))
        server = server_class(command, *address, title=f"tuibench {name}")
        access = "read-write" if read_write else "read-only"
        info(f"{name} at http://{address}, {access}; Ctrl-C ends this page, not the session")
        serve_page(server, sock, name, socket, Path(hello.run_directory))


def viewer_command(session: str, *, read_write: bool) -> list[str]:
    """Command line of a page's viewer."""
    return own_command("tuibench", "attach", session, *([] if read_write else ["--read-only"]))


def require_textual_serve() -> "type[ScreenServer]":
    """Class that serves a screen. Raises UsageError if textual-serve is not installed."""
    try:
        from tuibench.cli.web_application import ScreenServer
    except ImportError as error:
        raise UsageError(
            "tuibench web needs textual-serve", "pip install '.[web]' in the clone of tuibench"
        ) from error
    return ScreenServer


def serve_page(server: "ScreenServer", sock: Any, name: str, socket: Path, record: Path) -> None:
    """Serve the session until interrupted."""
    from aiohttp import web as http

    from tuibench.cli.web_application import WatchedSession, make_application

    http.run_app(
        make_application(server, WatchedSession(name, socket, record)),
        sock=sock,
        print=None,
        shutdown_timeout=SHUTDOWN_SECONDS,
    )
