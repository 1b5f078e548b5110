"""`tuibench live`: opens the live screen on a given server."""

from typing import Annotated

import click

from tuibench.cli.options.adhoc_sql_options import AdhocSqlOptions
from tuibench.cli.options.profile_options import CONTEXT
from tuibench.cli.options.run_options import SessionOptions, make_plan
from tuibench.cli.options.screen_options import ScreenOptions
from tuibench.cli.options.server_options import ServerOptions
from tuibench.cli.options.session_options import BackgroundOptions, MetricsOptions
from tuibench.cli.parsing.click_command import Argument, PlanValues, Takes

__all__ = ["CONTEXT", "live"]


def live(
    context: click.Context,
    adhoc: AdhocSqlOptions,
    server: ServerOptions,
    options: Annotated[PlanValues, Takes("live")],
    session: SessionOptions,
    background: BackgroundOptions,
    metrics: MetricsOptions,
    screen: ScreenOptions,
    profile: Annotated[str, Argument(help="A profile's name (oltp_read_write, …) or file.")] = "",
) -> None:
    """The run has its own process: without a viewer it continues for --grace seconds, then stops and
    restores the settings. x leaves the screen, attach opens it again. With --threads=0 the charts show
    the server's own traffic, as in watch, and + adds load. All options of the profile are accepted, too:
    --tables=4 --table-size=100000 …; tuibench profiles show PROFILE lists them.
    """
    from tuibench.cli.runner.headless import warn_leftovers
    from tuibench.cli.runner.new_session import new_session_spec, run_session
    from tuibench.cli.runner.viewer import require_terminal

    if not background.detach:
        require_terminal("tuibench run with the same options, or --detach")
    session.keep_records()
    plan = adhoc.apply_to(make_plan(options, *adhoc.profile_and_options(profile, context.args)))
    warn_leftovers()
    display = None if background.detach else screen.display_options()
    spec = metrics.spec(new_session_spec(plan, server.target(), yes_this_server=session.yes_this_server))
    raise click.exceptions.Exit(run_session(spec, background, display))
