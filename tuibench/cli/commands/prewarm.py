"""`tuibench prewarm`: reads a profile's tables into the server's buffer pool, like sysbench prewarm."""

from typing import Annotated

import click

from tuibench.cli.options.profile_options import CONTEXT, split_profile_and_options
from tuibench.cli.options.server_options import ServerOptions
from tuibench.cli.output.log import info
from tuibench.cli.parsing.click_command import Argument
from tuibench.errors import UsageError

__all__ = ["CONTEXT", "prewarm"]


def prewarm(
    context: click.Context,
    profile: Annotated[str, Argument(help="A profile's name (oltp_read_write, …) or file.")],
    server: ServerOptions,
) -> None:
    """Analyses each table and reads it through each of its indexes. Give their number: --tables=4."""
    from tuibench.cli.runner.event_loop import run_async
    from tuibench.load.tables.inspect_tables import prepare_line
    from tuibench.load.tables.prewarm import prewarm_tables
    from tuibench.workload import library

    program = library.load_program(*split_profile_and_options(profile, context.args))
    target = server.target()
    tables = run_async(prewarm_tables(target, program, lambda table: info(f"reading {table}")))
    if not tables:
        raise UsageError(
            "the tables of the data set are missing", f"create them: {prepare_line(program, target)}"
        )
    info(f"read {len(tables)} {'table' if len(tables) == 1 else 'tables'}")
