"""`tuibench sweep`: runs a load under every combination of threads and settings, and prints one table."""

from typing import Annotated

import typer

from tuibench.cli import candidates
from tuibench.cli.options import (
    CONTEXT,
    AdhocSqlOptions,
    PrivateServerOptions,
    SessionOptions,
    StartOptions,
)
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.typer_command import PlanValues, Takes
from tuibench.features.sweep.options import ResultOptions, SweepOptions

__all__ = ["CONTEXT", "sweep"]


def sweep(
    context: typer.Context,
    server: ServerOptions,
    adhoc: AdhocSqlOptions,
    axes: SweepOptions,
    options: Annotated[PlanValues, Takes("sweep")],
    session: SessionOptions,
    private: PrivateServerOptions,
    start: StartOptions,
    results: ResultOptions,
    profile: Annotated[
        str,
        typer.Argument(autocompletion=candidates.profiles, help="Profiles: oltp_read_only,oltp_write_only."),
    ] = "",
) -> None:
    """Separate several profiles by commas, and several values of an option (those with N,… below, and those
    of a profile): --rate=100,200, --reconnect=0,10, --table-size=10000,100000,
    --rand-type=uniform,zipfian. Continue an interrupted sweep with --resume DIR.
    """
    from tuibench.features.sweep.execution import run_sweep

    run_sweep(context, server, adhoc, axes, options, session, private, start, results, profile)
