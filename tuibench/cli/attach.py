"""`tuibench attach`: the live monitor on a session that runs already."""

import os
from typing import Annotated

import typer

from tuibench.cli.finding import RunDir, look_in, socket_of
from tuibench.cli.groups import grouped
from tuibench.cli.screen_options import ScreenOptions
from tuibench.cli.watching import demand_terminal, left_running, tell, watch
from tuibench.errors import ExitCode

DETAILS = (
    "The session is named by its id or a unique part of it; it may be left out when there is just one. "
    "Any number may watch and steer. x leaves and the run goes on; q asks whether to stop it. "
    "With --read-only nothing can be steered."
)

DRIVER, IN_BROWSER = "TEXTUAL_DRIVER", "web_driver"


def is_in_browser() -> bool:
    """True if `tuibench web` has called: the screen then goes through pipes, and nothing else may."""
    return IN_BROWSER in os.environ.get(DRIVER, "")


@grouped
def attach(
    session: Annotated[str, typer.Argument(metavar="[ID]", help="Which session.", show_default=False)] = "",
    *,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Look, and steer nothing: the session refuses it.")
    ] = False,
    screen: ScreenOptions,
    run_dir: RunDir = "",
) -> None:
    if not is_in_browser():
        demand_terminal("tuibench ctl status")
    look_in(run_dir)
    look = screen.look()
    socket = socket_of(session)
    ended = watch(socket, look, owner=False, read_only=read_only)
    if is_in_browser():
        raise typer.Exit(ended.exit_code if ended is not None else ExitCode.DONE)
    raise typer.Exit(tell(ended) if ended is not None else left_running(socket, run_dir))
