"""`tuibench cleanup`: drops the tables of a profile."""

from typing import Annotated

import typer

from tuibench.cli.groups import grouped
from tuibench.cli.loop import run_async
from tuibench.cli.profile_options import CONTEXT, profile_and_options
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.talk import say, warn
from tuibench.load.cleanup import cleanup as drop
from tuibench.workload import library

__all__ = ["CONTEXT", "cleanup"]

DETAILS = "Only tables with the data set's names and columns are dropped. Say how many: --tables=4."


@grouped
def cleanup(
    context: typer.Context,
    profile: Annotated[str, typer.Argument(help="A profile's name (oltp_read_write, …) or file.")],
    server: ServerOptions,
) -> None:
    program = library.program(*profile_and_options(profile, context.args))
    result = run_async(drop(server.target(), program, warn))
    say(f"dropped {', '.join(result.dropped) or 'nothing'}")
    for table in result.foreign:
        say(f"left {table}: its columns are not those of the data set")
    if result.others:
        say(f"left {', '.join(result.others)}: --tables={len(program.tables)} does not reach them")
