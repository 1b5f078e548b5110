"""`tuibench run`: the load without a screen, in sysbench's words."""

from typing import Annotated

import typer

from tuibench.cli.driving import announce_leftovers, demand_writable, drive, write_json
from tuibench.cli.groups import grouped
from tuibench.cli.loop import run_async
from tuibench.cli.run_options import CONTEXT, RunOptions, profile_options, session_spec
from tuibench.cli.server_options import ServerOptions

__all__ = ["CONTEXT", "run"]

DETAILS = "Every option of the profile is taken, too: --tables=4 --table-size=100000 --point-selects=10 …"


@grouped
def run(
    context: typer.Context,
    profile: Annotated[str, typer.Argument(help="A profile's name (oltp_read_write, …) or file.")],
    server: ServerOptions,
    options: RunOptions,
    report_interval: Annotated[
        float, typer.Option("--report-interval", help="Seconds between interval lines; 0 for none.")
    ] = 1,
    json_file: Annotated[
        str, typer.Option("--json", help="Write the summary to this file as JSON; - for stdout.")
    ] = "",
) -> None:
    plan = options.plan(profile, profile_options(context.args))
    demand_writable(json_file)
    announce_leftovers()
    spec = session_spec(plan, server.target())
    summary, code = run_async(drive(spec, report_interval))
    if json_file:
        write_json(json_file, summary)
    raise typer.Exit(code)
