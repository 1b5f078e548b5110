"""`tuibench restore`: puts back what a crashed session left changed on a server."""

from typing import Annotated

import typer

from tuibench.cli.finding import RunDir, look_in
from tuibench.cli.groups import grouped
from tuibench.cli.loop import run_async
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.talk import say
from tuibench.errors import ExitCode, TuibenchError
from tuibench.model.target import Target
from tuibench.tuning.restore import Leftover, leftovers, restore_leftover

DETAILS = (
    "The journal knows the server and the user of each session; the password comes from -p, MYSQL_PWD or an "
    "option file. Only values that tuibench set, and that nobody changed since, are put back."
)


@grouped
def restore(
    server: ServerOptions,
    wait: Annotated[
        float, typer.Option("--wait", help="Seconds to try again for while the server is away.")
    ] = 30,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what is left, change nothing.")] = False,
    run_dir: RunDir = "",
) -> None:
    look_in(run_dir)
    found = leftovers()
    if not found:
        typer.echo("nothing to restore")
        return
    if dry_run:
        for leftover in found:
            typer.echo(leftover.text)
        return
    login = server.target()
    results = [run_async(_put_back(leftover, server, login, wait)) for leftover in found]
    raise typer.Exit(ExitCode.DONE if all(results) else ExitCode.RUN_FAILED)


async def _put_back(leftover: Leftover, server: ServerOptions, login: Target, wait: float) -> bool:
    """True when nothing of it is left to be done."""
    if leftover.header is None:
        say(leftover.problem)
        return False
    target = server.over(leftover.header.target, login)
    typer.echo(leftover.text)
    try:
        restored = await restore_leftover(
            leftover, target, patience_seconds=wait, tell=lambda text: say(f"  {text}")
        )
    except TuibenchError as error:
        say(f"  {error}")
        return False
    for one in restored:
        typer.echo(f"  {one.text}")
    return not any(one.pending for one in restored) and not leftover.problem
