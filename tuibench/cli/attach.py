"""`tuibench attach`: the live monitor on a session that runs already."""

from typing import Annotated

import typer

from tuibench.cli.finding import RunDir, look_in, socket_of
from tuibench.cli.groups import grouped
from tuibench.cli.live import demand_terminal, left_running, tell, watch
from tuibench.cli.screen_options import ScreenOptions

DETAILS = (
    "The session is named by its id or a unique part of it; it may be left out when there is just one. "
    "Any number may watch and steer. x leaves and the run goes on; q asks whether to stop it."
)


@grouped
def attach(
    session: Annotated[str, typer.Argument(metavar="[ID]", help="Which session.", show_default=False)] = "",
    *,
    screen: ScreenOptions,
    run_dir: RunDir = "",
) -> None:
    demand_terminal("tuibench ctl status")
    look_in(run_dir)
    look = screen.look()
    socket = socket_of(session)
    ended = watch(socket, look, owner=False)
    raise typer.Exit(tell(ended) if ended is not None else left_running(socket, run_dir))
