"""`tuibench live`: the live monitor on a given server."""

from typing import Annotated

import typer

from tuibench.cli.background import Background, detached, start_session
from tuibench.cli.driving import announce_leftovers
from tuibench.cli.groups import grouped
from tuibench.cli.loop import run_async
from tuibench.cli.metrics_options import MetricsOptions
from tuibench.cli.own_sql import OwnSql
from tuibench.cli.profile_options import CONTEXT
from tuibench.cli.run_options import RunOptions
from tuibench.cli.screen_options import ScreenOptions
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.spec import session_spec
from tuibench.cli.trial_options import TrialOptions
from tuibench.cli.watching import demand_terminal, left_running, tell, watch

__all__ = ["CONTEXT", "live"]

DETAILS = (
    "The run goes on in a process of its own: it survives a dropped terminal for the grace, then stops and "
    "puts the settings back; x leaves it, attach joins it again. "
    "Every option of the profile is taken, too: --tables=4 --table-size=100000 …; "
    "tuibench profiles show PROFILE lists them."
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
