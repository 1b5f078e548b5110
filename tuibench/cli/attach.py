"""`tuibench attach`: the live monitor on a session that runs already."""

from typing import Annotated

import typer

from tuibench.cli.finding import RunDir, look_in, socket_of
from tuibench.cli.live import Theme, demand_terminal, left_running, tell, watch

DETAILS = (
    "The session is named by its id or a unique part of it; it may be left out when there is just one. "
    "Any number may watch and steer. x leaves and the run goes on; q asks whether to stop it."
)


def attach(
    session: Annotated[str, typer.Argument(metavar="[ID]", help="Which session.", show_default=False)] = "",
    theme: Theme = "",
    run_dir: RunDir = "",
) -> None:
    demand_terminal("tuibench ctl status")
    look_in(run_dir)
    socket = socket_of(session)
    ended = watch(socket, theme, owner=False)
    raise typer.Exit(tell(ended) if ended is not None else left_running(socket, run_dir))
