"""`tuibench prepare`: makes the tables of a profile."""

import os
from typing import Annotated

import typer

from tuibench.cli.groups import grouped
from tuibench.cli.loop import run_async
from tuibench.cli.option_words import one_of
from tuibench.cli.profile_options import CONTEXT, profile_and_options
from tuibench.cli.progress import loading_bar
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.talk import say, warn
from tuibench.errors import UsageError
from tuibench.load.prepare import prepare as load
from tuibench.load.prepare_load import Method
from tuibench.load.prepare_ways import WAYS
from tuibench.model.target import Target
from tuibench.workload import library
from tuibench.workload.datasets import data_set
from tuibench.workload.program import Program

__all__ = ["CONTEXT", "prepare"]

DETAILS = "Options of the data set: --tables=1 --table-size=10000 --create-secondary=on --auto-inc=on …"
MOST_CONNECTIONS = 1000


@grouped
def prepare(
    context: typer.Context,
    profile: Annotated[str, typer.Argument(help="A profile's name (oltp_read_write, …) or file.")],
    server: ServerOptions,
    threads: Annotated[
        int, typer.Option("--threads", "--num-threads", help="Connections that load at a time; 0: by cores.")
    ] = 0,
    load_with: Annotated[
        str,
        typer.Option("--load-with", help="auto, bulk (MariaDB), infile (LOAD DATA LOCAL) or insert."),
    ] = "auto",
    without_binlog: Annotated[
        bool, typer.Option("--without-binlog", help="Hide the rows from the binary log: replicas lack them.")
    ] = False,
    create_database: Annotated[
        bool, typer.Option("--create-database", help="Make the database if it is missing.")
    ] = False,
) -> None:
    if not 0 <= threads <= MOST_CONNECTIONS:
        raise UsageError(f"--threads must be between 0 and {MOST_CONNECTIONS} for prepare, not {threads}")
    planned = {"threads": threads} if threads else {}
    name, options = profile_and_options(profile, context.args)
    program = library.program(name, {**options, **planned})
    method = Method(
        parallel=threads or 2 * (os.cpu_count() or 1),
        way=one_of("--load-with", load_with, WAYS),
        binlog=not without_binlog,
    )
    run_async(make_tables(server.target(), program, method, create_database=create_database))


async def make_tables(
    target: Target, program: Program, method: Method, *, create_database: bool = False
) -> None:
    """Loads the data set with a progress bar, and says what was made."""
    with loading_bar(f"loading {data_set(program).describe()}") as progress:
        made = await load(
            target, program, method=method, progress=progress, create_database=create_database, warn=warn
        )
    tables = "1 table" if made.tables == 1 else f"{made.tables} tables"
    say(
        f"loaded {tables} with {made.rows:,} rows in {made.seconds:.1f} s "
        f"({made.rows_per_second:,.0f} rows/s)"
    )
    if made.way == "insert" and method.way == "auto":
        say("with SET GLOBAL local_infile=ON, this server takes LOAD DATA LOCAL, in about a third less time")
