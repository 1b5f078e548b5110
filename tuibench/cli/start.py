"""`tuibench start`, and `tuibench` alone in a terminal: a form for server and load, then the live screen."""

import typer

from tuibench.cli.groups import grouped
from tuibench.cli.loop import run_async
from tuibench.cli.screen_options import ScreenOptions
from tuibench.cli.watching import demand_terminal, left_running, tell, watch
from tuibench.errors import ExitCode

DETAILS = (
    "`tuibench` alone does the same in a terminal. Servers of your option files and those used last are "
    "offered, and a private one that is gone afterwards. Passwords are never kept."
)


@grouped
def start(screen: ScreenOptions) -> None:
    demand_terminal("tuibench run oltp_read_write …")
    look = screen.look()
    from tuibench.cli.start_backstage import StartBackstage
    from tuibench.tui.start.app import StartApp

    backstage = StartBackstage()
    try:
        socket = StartApp(backstage, look).shown()
        if socket is None:
            raise typer.Exit(ExitCode.DONE)
        ended = watch(socket, look)
        if ended is None and backstage.private is not None:
            backstage.private.release()
            backstage.private = None
        raise typer.Exit(tell(ended) if ended is not None else left_running(socket))
    finally:
        if backstage.private is not None:
            run_async(backstage.private.stop())
