"""`tuibench start`, and `tuibench` alone in a terminal: the start form, then the live monitor."""

import click

from tuibench.cli.options.screen_options import ScreenOptions
from tuibench.cli.runner.event_loop import run_async
from tuibench.cli.runner.viewer import open_viewer, print_result, report_left_running, require_terminal
from tuibench.errors import ExitCode

DETAILS = (
    "`tuibench` alone does the same in a terminal. Servers of your option files and those used last are "
    "offered, and a private one that is gone afterwards. Passwords are never kept."
)


def start(screen: ScreenOptions) -> None:
    require_terminal("tuibench run oltp_read_write …")
    look = screen.look()
    from tuibench.cli.commands.start.controller import CliStartController
    from tuibench.tui.start.screen import StartApp

    backstage = CliStartController()
    try:
        socket = StartApp(backstage, look).shown()
        if socket is None:
            raise click.exceptions.Exit(ExitCode.DONE)
        ended = open_viewer(socket, look)
        if ended is None and backstage.private is not None:
            backstage.private.release()
            backstage.private = None
        raise click.exceptions.Exit(print_result(ended) if ended is not None else report_left_running(socket))
    finally:
        if backstage.private is not None:
            run_async(backstage.private.stop())
