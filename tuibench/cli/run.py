"""`tuibench run`: the load without a screen, in sysbench's words."""

from typing import Annotated

import typer

from tuibench.cli.background import Background, detached
from tuibench.cli.driving import announce_leftovers, demand_writable, drive, write_json
from tuibench.cli.groups import grouped
from tuibench.cli.loop import run_async
from tuibench.cli.metrics_options import MetricsOptions
from tuibench.cli.own_sql import OwnSql
from tuibench.cli.profile_options import CONTEXT
from tuibench.cli.report_options import ReportOptions
from tuibench.cli.run_options import RUN_SECONDS, RunOptions
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.spec import session_spec
from tuibench.cli.trial_options import TrialOptions
from tuibench.errors import UsageError

__all__ = ["CONTEXT", "run"]

DETAILS = (
    "Every option of the profile is taken, too: --tables=4 --table-size=100000 --point-selects=10 …; "
    "tuibench profiles show PROFILE lists them."
)


@grouped
def run(
    context: typer.Context,
    own: OwnSql,
    server: ServerOptions,
    options: RunOptions,
    trial: TrialOptions,
    background: Background,
    report: ReportOptions,
    metrics: MetricsOptions,
    profile: Annotated[str, typer.Argument(help="A profile's name (oltp_read_write, …) or file.")] = "",
) -> None:
    if background.detach:
        report.demand_none_waits()
    if background.grace is not None and not background.detach:
        raise UsageError("--grace is for a run in the background", "add --detach")
    plan = own.into(options.plan(*own.named(profile, context.args), RUN_SECONDS))
    plan = trial.plan(plan, options.time)
    plan = report.plan(plan)
    output = report.output(plan.interval_seconds)
    demand_writable(report.json_file)
    demand_writable(report.csv_file)
    announce_leftovers()
    spec = session_spec(plan, server.target(), yes_this_server=options.yes_this_server)
    spec = metrics.spec(spec)
    if background.detach:
        raise typer.Exit(detached(spec, background, options.run_dir))
    summary, code = run_async(drive(spec, output))
    if report.json_file:
        write_json(report.json_file, summary)
    raise typer.Exit(code)
