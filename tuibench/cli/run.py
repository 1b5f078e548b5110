"""`tuibench run`: the load without a screen, in sysbench's words."""

from typing import Annotated

import msgspec
import typer

from tuibench.cli.background import Background, detached
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
from tuibench.errors import UsageError

__all__ = ["CONTEXT", "run"]

DETAILS = "Every option of the profile is taken, too: --tables=4 --table-size=100000 --point-selects=10 …"

JSON_INSTEAD = "take it from its folder, or with tuibench ctl ID stop --wait --format json"


@grouped
def run(
    context: typer.Context,
    profile: Annotated[str, typer.Argument(help="A profile's name (oltp_read_write, …) or file.")],
    server: ServerOptions,
    options: RunOptions,
    trial: TrialOptions,
    background: Background,
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
    if background.detach and json_file:
        raise UsageError("--json cannot wait for a run in the background", JSON_INSTEAD)
    if background.grace is not None and not background.detach:
        raise UsageError("--grace is for a run in the background", "add --detach")
    plan = options.plan(*profile_and_options(profile, context.args), RUN_SECONDS)
    plan = trial.plan(plan, options.time)
    plan = msgspec.structs.replace(plan, checkpoints=checkpoints(report_checkpoints))
    demand_writable(json_file)
    announce_leftovers()
    spec = session_spec(plan, server.target(), yes_this_server=options.yes_this_server)
    if background.detach:
        raise typer.Exit(detached(spec, background, options.run_dir))
    output = Output(report_interval, switch("--histogram", histogram), verbosity)
    summary, code = run_async(drive(spec, output))
    if json_file:
        write_json(json_file, summary)
    raise typer.Exit(code)
