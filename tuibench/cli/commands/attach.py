"""`tuibench attach`: opens the live screen on a running session."""

import os
from typing import Annotated

import click

from tuibench.cli.click_command import Argument
from tuibench.cli.options import ScreenOptions
from tuibench.errors import ExitCode
from tuibench.model.option import Option

DRIVER, IN_BROWSER = "TEXTUAL_DRIVER", "web_driver"


def is_in_browser() -> bool:
    """True if started by `tuibench web`: the screen is sent through pipes, which allow no other output."""
    return IN_BROWSER in os.environ.get(DRIVER, "")


def attach(
    session: Annotated[
        str, Argument(metavar="[ID]", help="Id of the session, or a unique part of it.", show_default=False)
    ] = "",
    *,
    read_only: Annotated[
        bool, Option("--read-only", help="Read only: the session refuses changes by this viewer.")
    ] = False,
    screen: ScreenOptions,
) -> None:
    """Name the session by its id or a unique part of it; if there is only one, the id can be omitted. Any
    number of viewers may attach. x leaves the screen and the run continues; q asks whether to stop it.
    With --read-only nothing can be changed.
    """
    from tuibench.cli.runner import end_viewer, find_session_socket, open_viewer, require_terminal

    if not is_in_browser():
        require_terminal("tuibench ctl status")
    display = screen.display_options()
    socket = find_session_socket(session)
    ended = open_viewer(socket, display, owner=False, read_only=read_only)
    if is_in_browser():
        raise click.exceptions.Exit(ended.exit_code if ended is not None else ExitCode.DONE)
    raise click.exceptions.Exit(end_viewer(ended, socket))
