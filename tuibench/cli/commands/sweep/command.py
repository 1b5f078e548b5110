"""`tuibench sweep`: runs a load under every combination of threads and settings, and prints one table."""

from typing import Annotated

import click

from tuibench.cli.commands.sweep.options import LOAD_AXES, ResultOptions, SweepOptions
from tuibench.cli.options.adhoc_sql_options import AdhocSqlOptions
from tuibench.cli.options.private_server_options import PrivateServerOptions
from tuibench.cli.options.profile_options import CONTEXT
from tuibench.cli.options.run_options import RunOptions
from tuibench.cli.options.server_options import ServerOptions
from tuibench.cli.options.session_options import HostMetricsOptions
from tuibench.cli.parsing.declarations import Argument, OmitOptions

__all__ = ["CONTEXT", "sweep"]

DETAILS = (
    "Separate several profiles by commas, and several values of a profile's option, too: "
    "--table-size=10000,100000, --rand-type=uniform,zipfian. Continue an interrupted sweep with --resume "
    "DIR."
)

LoadOptions = Annotated[
    RunOptions,
    OmitOptions("threads", "time", "events", "warmup_time", "plan_text", "ramp", "ramp_rate", *LOAD_AXES),
]


def sweep(
    context: click.Context,
    server: ServerOptions,
    adhoc: AdhocSqlOptions,
    axes: SweepOptions,
    options: LoadOptions,
    private: PrivateServerOptions,
    host: HostMetricsOptions,
    results: ResultOptions,
    profile: Annotated[str, Argument(help="Profiles: oltp_read_only,oltp_write_only.")] = "",
) -> None:
    from tuibench.cli.commands.sweep.execution import run_sweep

    run_sweep(context, server, adhoc, axes, options, private, host, results, profile)
