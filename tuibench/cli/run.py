"""`tuibench run`: the load without a screen, in sysbench's words."""

from typing import Annotated

import msgspec
import typer

from tuibench.cli.driving import Output, announce_leftovers, demand_writable, drive, write_json
from tuibench.cli.groups import grouped
from tuibench.cli.loop import run_async
from tuibench.cli.run_options import (
    CONTEXT,
    RUN_SECONDS,
    RunOptions,
    checkpoints,
    profile_and_options,
    session_spec,
    switch,
)
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.trial_options import TrialOptions

__all__ = ["CONTEXT", "run"]

DETAILS = "Every option of the profile is taken, too: --tables=4 --table-size=100000 --point-selects=10 …"


@grouped
def run(
    context: typer.Context,
    profile: Annotated[str, typer.Argument(help="A profile's name (oltp_read_write, …) or file.")],
    server: ServerOptions,
    options: RunOptions,
    trial: TrialOptions,
    report_interval: Annotated[
        float, typer.Option("--report-interval", help="Seconds between interval lines; 0 for none.")
    ] = 1,
    report_checkpoints: Annotated[
        str,
        typer.Option(
            "--report-checkpoints", help="Seconds (10,60,…) at which to print a full report and count anew."
        ),
    ] = "",
    histogram: Annotated[
        str, typer.Option("--histogram", help="on: print the distribution of the latencies.")
    ] = "off",
    verbosity: Annotated[
        int, typer.Option("--verbosity", help="5: all … 3: lines and summary … 0: nothing but errors.")
    ] = 3,
    json_file: Annotated[
        str, typer.Option("--json", help="Write the summary to this file as JSON; - for stdout.")
    ] = "",
) -> None:
    plan = options.plan(*profile_and_options(profile, context.args), RUN_SECONDS)
    plan = trial.plan(plan, options.time)
    plan = msgspec.structs.replace(plan, checkpoints=checkpoints(report_checkpoints))
    demand_writable(json_file)
    announce_leftovers()
    spec = session_spec(plan, server.target(), yes_this_server=options.yes_this_server)
    output = Output(report_interval, switch("--histogram", histogram), verbosity)
    summary, code = run_async(drive(spec, output))
    if json_file:
        write_json(json_file, summary)
    raise typer.Exit(code)
