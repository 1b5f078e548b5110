"""`tuibench start`: the form, then the live screen."""

import typer

from tuibench.base.errors import ExitCode
from tuibench.cli.options import ScreenOptions


def start(screen: ScreenOptions) -> None:
    """`tuibench` without arguments does the same in a terminal. The form offers the servers of your option
    files, servers used recently, and a private server that is removed at the end. Passwords are never
    stored.
    """
    from tuibench.cli.runner import end_viewer, open_viewer, require_terminal, run_async

    require_terminal("tuibench run --help")
    display = screen.display_options()
    from tuibench.features.start.screen import StartApp
    from tuibench.features.start.setup import CliStartController

    controller = CliStartController()
    try:
        socket = StartApp(controller, display).shown()
        if socket is None:
            raise typer.Exit(ExitCode.DONE)
        ended = open_viewer(socket, display)
        if ended is None and controller.private is not None:
            controller.private.release()
            controller.private = None
        raise typer.Exit(end_viewer(ended, socket))
    finally:
        if controller.private is not None:
            run_async(controller.private.stop())
