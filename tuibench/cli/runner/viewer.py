"""Opens the screen on a session; when it closes, prints the result on the terminal.

An attaching viewer imports this before its first paint: it must not import load, server or recorder modules.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuibench.cli.output.log import info
from tuibench.cli.output.run_notes import run_notes
from tuibench.cli.runner.event_loop import run_async
from tuibench.cli.runner.session_lookup import fetch_hello, lifetime_text, session_hints
from tuibench.errors import ExitCode, SessionUnreachableError, UsageError
from tuibench.model.message import SessionEnded

if TYPE_CHECKING:
    from tuibench.tui.scenes.player import ScenePlayer
    from tuibench.tui.terminal.styled_app import DisplayOptions


def require_terminal(instead: str) -> None:
    """Raises UsageError if there is no terminal."""
    if not is_on_terminal():
        raise UsageError("the live screen needs a terminal", f"without one: {instead}")


def is_on_terminal() -> bool:
    """True if all three streams are a terminal: keys are read from stdin, the screen is written to stderr."""
    return sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()


def open_viewer(
    socket: Path,
    display: "DisplayOptions",
    *,
    owner: bool = True,
    read_only: bool = False,
    scene: "ScenePlayer | None" = None,
) -> SessionEnded | None:
    """Open the screen on a session; returns its end message, None if it was left running."""
    from tuibench.tui import viewer

    return viewer.run_viewer(socket, display, owner=owner, read_only=read_only, scene=scene)


def end_viewer(ended: SessionEnded | None, socket: Path) -> ExitCode:
    """Print the result of a session that has ended, else how to reach it; returns the exit code."""
    return print_result(ended) if ended is not None else report_left_running(socket)


def report_left_running(socket: Path) -> ExitCode:
    """Report how to reach a session that continues, if the terminal still exists."""
    if not is_on_terminal():
        return ExitCode.INTERRUPTED
    try:
        hello = run_async(fetch_hello(socket))
    except SessionUnreachableError as error:
        info(f"tuibench: {error}")
        return ExitCode.DONE
    for line in (lifetime_text(hello), *session_hints(hello.session, has_load=not hello.plan.is_watch)):
        info(line)
    return ExitCode.DONE


def print_result(ended: SessionEnded) -> ExitCode:
    """Print the summary on the terminal; returns the exit code of the run."""
    click.echo(ended.text, nl=False)
    for line in run_notes(ended.summary, ended.run_directory):
        info(line)
    return ExitCode(ended.exit_code)
