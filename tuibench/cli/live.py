"""`tuibench live`: the live monitor on a given server."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tuibench import paths
from tuibench.cli.driving import announce_leftovers, notes, say
from tuibench.cli.groups import grouped
from tuibench.cli.loop import run_async
from tuibench.cli.run_options import CONTEXT, RunOptions, profile_and_options, session_spec
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.trial_options import TrialOptions
from tuibench.errors import ExitCode, UsageError
from tuibench.model.message import Ended
from tuibench.session.launch import launch
from tuibench.session.spec import ServiceSpec, SessionSpec

__all__ = ["CONTEXT", "live"]

DETAILS = (
    "The run goes on in a process of its own: it survives a dropped terminal for the grace, then stops and "
    "puts the settings back. Every option of the profile is taken, too: --tables=4 --table-size=100000 …"
)

Theme = Annotated[str, typer.Option("--theme", help="Colours: dark, light, ansi-dark, ansi-light.")]


@grouped
def live(
    context: typer.Context,
    profile: Annotated[str, typer.Argument(help="A profile's name (oltp_read_write, …) or file.")],
    server: ServerOptions,
    options: RunOptions,
    trial: TrialOptions,
    grace: Annotated[
        float, typer.Option("--grace", help="Seconds the run goes on when nobody watches.")
    ] = 60,
    detach: Annotated[
        bool, typer.Option("--detach", help="Let it go on for good when nobody watches.")
    ] = False,
    theme: Theme = "",
) -> None:
    demand_terminal(f"tuibench run {profile} …")
    plan = trial.plan(options.plan(*profile_and_options(profile, context.args)), options.time)
    announce_leftovers()
    spec = session_spec(plan, server.target(), yes_this_server=options.yes_this_server)
    socket = run_async(start_session(spec, None if detach else grace))
    ended = watch(socket, theme)
    if ended is None:
        say("tuibench: the run goes on without a viewer until its grace is over")
    raise typer.Exit(tell(ended) if ended is not None else ExitCode.DONE)


def demand_terminal(instead: str) -> None:
    """Raises UsageError when there is no screen to draw on."""
    if not is_on_terminal():
        raise UsageError("the live monitor needs a terminal", f"without one: {instead}")


def is_on_terminal() -> bool:
    """True if all three streams are a terminal's: keys come in on one, and the screen goes out on stderr."""
    return sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()


async def start_session(
    spec: SessionSpec, grace_seconds: float | None, pass_fds: tuple[int, ...] = ()
) -> Path:
    """Starts the session's own process; the socket it listens on."""
    socket = paths.runtime_dir() / f"{spec.session}.sock"
    log = paths.state_dir() / "sessions.log"
    service = ServiceSpec(session=spec, socket=str(socket), grace_seconds=grace_seconds)
    return await launch(service, log, pass_fds)


def watch(socket: Path, theme: str) -> Ended | None:
    """Opens the screen on a session; its last word, or None if it was left running."""
    from tuibench.tui import app

    return app.run(socket, theme=theme or None)


def tell(ended: Ended) -> ExitCode:
    """Leaves the summary in the terminal; the exit code of the run."""
    typer.echo(ended.text, nl=False)
    for line in notes(ended.summary, ended.run_directory):
        say(line)
    return ExitCode(ended.exit_code)
