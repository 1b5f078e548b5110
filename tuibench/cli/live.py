"""`tuibench live`: the live monitor on a given server."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuibench.cli.background import Background, detached, start_session
from tuibench.cli.driving import announce_leftovers, notes, say
from tuibench.cli.finding import asked, how_to_reach, outlook
from tuibench.cli.groups import grouped
from tuibench.cli.loop import run_async
from tuibench.cli.metrics_options import MetricsOptions
from tuibench.cli.own_sql import OwnSql
from tuibench.cli.run_options import CONTEXT, RunOptions, session_spec
from tuibench.cli.screen_options import ScreenOptions
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.trial_options import TrialOptions
from tuibench.errors import ExitCode, SessionAwayError, UsageError
from tuibench.model.message import Ended

if TYPE_CHECKING:
    from tuibench.tui.look import Look

__all__ = ["CONTEXT", "live"]

DETAILS = (
    "The run goes on in a process of its own: it survives a dropped terminal for the grace, then stops and "
    "puts the settings back; x leaves it, attach joins it again. "
    "Every option of the profile is taken, too: --tables=4 --table-size=100000 …"
)


@grouped
def live(
    context: typer.Context,
    own: OwnSql,
    server: ServerOptions,
    options: RunOptions,
    trial: TrialOptions,
    background: Background,
    metrics: MetricsOptions,
    screen: ScreenOptions,
    profile: Annotated[str, typer.Argument(help="A profile's name (oltp_read_write, …) or file.")] = "",
) -> None:
    if not background.detach:
        demand_terminal(f"tuibench run {profile or '--sql'} …, or --detach")
    plan = trial.plan(own.into(options.plan(*own.named(profile, context.args))), options.time)
    announce_leftovers()
    look = None if background.detach else screen.look()
    spec = session_spec(plan, server.target(), yes_this_server=options.yes_this_server)
    spec = metrics.spec(spec)
    if look is None:
        raise typer.Exit(detached(spec, background, options.run_dir))
    socket = run_async(start_session(spec, background.grace_seconds))
    ended = watch(socket, look)
    raise typer.Exit(tell(ended) if ended is not None else left_running(socket, options.run_dir))


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
