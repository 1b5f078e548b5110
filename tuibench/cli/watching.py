"""Opens the screen on a session, and says in the terminal what is left to be said when it closes.

A viewer that attaches imports this before its first picture: no load, no server and no recorder in here.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tuibench.cli.finding import asked, how_to_reach, outlook
from tuibench.cli.loop import run_async
from tuibench.cli.notes import notes
from tuibench.cli.talk import say
from tuibench.errors import ExitCode, SessionAwayError, UsageError
from tuibench.model.message import Ended

if TYPE_CHECKING:
    from tuibench.tui.look import Look


def demand_terminal(instead: str) -> None:
    """Raises UsageError when there is no screen to draw on."""
    if not is_on_terminal():
        raise UsageError("the live monitor needs a terminal", f"without one: {instead}")


def is_on_terminal() -> bool:
    """True if all three streams are a terminal's: keys come in on one, and the screen goes out on stderr."""
    return sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()


def watch(socket: Path, look: "Look", *, owner: bool = True, read_only: bool = False) -> Ended | None:
    """Opens the screen on a session; its last word, or None if it was left running."""
    from tuibench.tui import app

    return app.run(socket, look, owner=owner, read_only=read_only)


def left_running(socket: Path, run_dir: str = "") -> ExitCode:
    """Says how to reach a session that goes on, if the terminal is still there to say it to."""
    if not is_on_terminal():
        return ExitCode.INTERRUPTED
    try:
        hello = run_async(asked(socket))
    except SessionAwayError as error:
        say(f"tuibench: {error}")
        return ExitCode.DONE
    for line in (outlook(hello), *how_to_reach(hello.session, run_dir)):
        say(line)
    return ExitCode.DONE


def tell(ended: Ended) -> ExitCode:
    """Leaves the summary in the terminal; the exit code of the run."""
    typer.echo(ended.text, nl=False)
    for line in notes(ended.summary, ended.run_directory):
        say(line)
    return ExitCode(ended.exit_code)
