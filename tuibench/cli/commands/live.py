"""`tuibench live`: opens the live screen on a given server."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import click

from tuibench.cli.options.ab_test_options import AbTestOptions
from tuibench.cli.options.adhoc_sql_options import AdhocSqlOptions
from tuibench.cli.options.profile_options import CONTEXT
from tuibench.cli.options.run_options import RunOptions
from tuibench.cli.options.screen_options import ScreenOptions
from tuibench.cli.options.server_options import ServerOptions
from tuibench.cli.options.session_options import BackgroundOptions, MetricsOptions, SightOptions
from tuibench.cli.parsing.declarations import Argument

__all__ = ["CONTEXT", "live"]

DETAILS = (
    "The run has its own process: without a viewer it continues for --grace seconds, then stops and "
    "restores the settings. x leaves the screen, attach opens it again. With --threads=0 the charts show "
    "the server's own traffic, as in watch, and + adds load. All options of the profile are accepted, too: "
    "--tables=4 --table-size=100000 …; "
    "tuibench profiles show PROFILE lists them."
)


@dataclass(frozen=True)
class LiveOptions(RunOptions):
    """Options of a load that may start without threads."""

    LEAST_THREADS: ClassVar = 0


def live(
    context: click.Context,
    adhoc: AdhocSqlOptions,
    server: ServerOptions,
    options: LiveOptions,
    trial: AbTestOptions,
    background: BackgroundOptions,
    metrics: MetricsOptions,
    sight: SightOptions,
    screen: ScreenOptions,
    profile: Annotated[str, Argument(help="A profile's name (oltp_read_write, …) or file.")] = "",
) -> None:
    from tuibench.cli.runner.headless import warn_leftovers
    from tuibench.cli.runner.new_session import new_session_spec, run_session
    from tuibench.cli.runner.viewer import require_terminal

    if not background.detach:
        require_terminal(f"tuibench run {profile or '--sql'} …, or --detach")
    plan = trial.plan(
        adhoc.apply_to(options.plan(*adhoc.profile_and_options(profile, context.args))), options.time
    )
    warn_leftovers()
    display = None if background.detach else screen.display_options()
    spec = new_session_spec(plan, server.target(), yes_this_server=options.yes_this_server)
    spec = sight.spec(metrics.spec(spec))
    raise click.exceptions.Exit(run_session(spec, background, display))
