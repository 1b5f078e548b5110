"""`tuibench prepare`, `prewarm`, `cleanup`: the tables of a profile.

`tuibench prepare`: creates the tables of a profile.

`tuibench prewarm`: reads a profile's tables into the server's buffer pool, like sysbench prewarm.

`tuibench cleanup`: drops the tables of a profile.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import click

from tuibench.cli.click_command import Argument
from tuibench.cli.options import CONTEXT, split_profile_and_options
from tuibench.cli.output import info, warning
from tuibench.cli.server_options import ServerOptions
from tuibench.errors import UsageError
from tuibench.model.option import Option, check_choice
from tuibench.model.server import Target

if TYPE_CHECKING:
    from tuibench.load.tables import LoadOptions
    from tuibench.workload.program import Program


MOST_CONNECTIONS = 1000

__all__ = ["CONTEXT", "cleanup", "prepare", "prewarm"]


def prepare(
    context: click.Context,
    profile: Annotated[str, Argument(help="A profile's name (oltp_read_write, …) or file.")],
    server: ServerOptions,
    threads: Annotated[
        int,
        Option(
            "--threads", "--num-threads", help="Connections that load in parallel; 0: by number of cores."
        ),
    ] = 0,
    load_with: Annotated[
        str,
        Option(
            "--load-with", metavar="WAY", help="auto, bulk (MariaDB), infile (LOAD DATA LOCAL) or insert."
        ),
    ] = "auto",
    without_binlog: Annotated[
        bool,
        Option("--without-binlog", help="Do not write the rows to the binary log: replicas do not get them."),
    ] = False,
    create_database: Annotated[
        bool, Option("--create-database", help="Create the database if it does not exist.")
    ] = False,
) -> None:
    """Options of the data set: --tables=1 --table-size=10000 --create-secondary=on --auto-inc=on …"""
    from tuibench.cli.runner import run_async
    from tuibench.load.tables import INSERT_METHODS, LoadOptions
    from tuibench.workload import library

    if not 0 <= threads <= MOST_CONNECTIONS:
        raise UsageError(f"--threads must be between 0 and {MOST_CONNECTIONS} for prepare, not {threads}")
    planned = {"threads": threads} if threads else {}
    name, options = split_profile_and_options(profile, context.args)
    program = library.load_program(name, {**options, **planned})
    method = LoadOptions(
        parallel=threads or 2 * (os.cpu_count() or 1),
        insert_method=check_choice("--load-with", load_with, INSERT_METHODS),
        binlog=not without_binlog,
    )
    run_async(make_tables(server.target(), program, method, create_database=create_database))


async def make_tables(
    target: Target, program: Program, method: LoadOptions, *, create_database: bool = False
) -> None:
    """Load the data set with a progress bar, and report the result."""
    from tuibench.cli.run_output import loading_bar
    from tuibench.load.tables import prepare_tables as load
    from tuibench.workload.datasets import build_data_set

    with loading_bar(f"loading {build_data_set(program).describe()}") as progress:
        made = await load(
            target, program, method=method, progress=progress, create_database=create_database, warn=warning
        )
    tables = "1 table" if made.tables == 1 else f"{made.tables} tables"
    info(
        f"loaded {tables} with {made.rows:,} rows in {made.seconds:.1f} s "
        f"({made.rows_per_second:,.0f} rows/s)"
    )
    if made.insert_method == "insert" and method.insert_method == "auto":
        info(
            "with SET GLOBAL local_infile=ON, this server accepts LOAD DATA LOCAL, which takes about a "
            "third less time"
        )


def prewarm(
    context: click.Context,
    profile: Annotated[str, Argument(help="A profile's name (oltp_read_write, …) or file.")],
    server: ServerOptions,
) -> None:
    """Analyses each table and reads it through each of its indexes. Give their number: --tables=4."""
    from tuibench.cli.runner import run_async
    from tuibench.load.tables import prepare_line, prewarm_tables
    from tuibench.workload import library

    program = library.load_program(*split_profile_and_options(profile, context.args))
    target = server.target()
    tables = run_async(prewarm_tables(target, program, lambda table: info(f"reading {table}")))
    if not tables:
        raise UsageError(
            "the tables of the data set are missing", f"create them: {prepare_line(program, target)}"
        )
    info(f"read {len(tables)} {'table' if len(tables) == 1 else 'tables'}")


def cleanup(
    context: click.Context,
    profile: Annotated[str, Argument(help="A profile's name (oltp_read_write, …) or file.")],
    server: ServerOptions,
) -> None:
    """Drops only tables with the names and columns of the data set. Give their number: --tables=4."""
    from tuibench.cli.runner import run_async
    from tuibench.load.tables import drop_tables as drop
    from tuibench.workload import library

    program = library.load_program(*split_profile_and_options(profile, context.args))
    result = run_async(drop(server.target(), program, warning))
    info(f"dropped {', '.join(result.dropped) or 'nothing'}")
    for table in result.foreign:
        info(f"left {table}: its columns differ from the data set's")
    if result.others:
        info(f"left {', '.join(result.others)}: --tables={len(program.tables)} does not include them")
