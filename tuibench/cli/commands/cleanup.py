"""`tuibench cleanup`: drops the tables of a profile."""

from typing import Annotated

import click

from tuibench.cli.options.profile_options import CONTEXT, split_profile_and_options
from tuibench.cli.options.server_options import ServerOptions
from tuibench.cli.output.log import info, warning
from tuibench.cli.parsing.click_command import Argument

__all__ = ["CONTEXT", "cleanup"]


def cleanup(
    context: click.Context,
    profile: Annotated[str, Argument(help="A profile's name (oltp_read_write, …) or file.")],
    server: ServerOptions,
) -> None:
    """Drops only tables with the names and columns of the data set. Give their number: --tables=4."""
    from tuibench.cli.runner.event_loop import run_async
    from tuibench.load.tables.cleanup import drop_tables as drop
    from tuibench.workload import library

    program = library.load_program(*split_profile_and_options(profile, context.args))
    result = run_async(drop(server.target(), program, warning))
    info(f"dropped {', '.join(result.dropped) or 'nothing'}")
    for table in result.foreign:
        info(f"left {table}: its columns differ from the data set's")
    if result.others:
        info(f"left {', '.join(result.others)}: --tables={len(program.tables)} does not include them")
