"""`tuibench start`, and `tuibench` alone in a terminal: the start form, then the live screen."""

import click

from tuibench.cli.options.screen_options import ScreenOptions
from tuibench.cli.runner.event_loop import run_async
from tuibench.cli.runner.viewer import open_viewer, print_result, report_left_running, require_terminal
from tuibench.errors import ExitCode

DETAILS = (
    "`tuibench` without arguments does the same in a terminal. The form offers the servers of your option "
    "files, servers used recently, and a private server that is removed at the end. Passwords are never "
    "stored."
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
