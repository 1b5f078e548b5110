"""`tuibench restore`: restores the settings that a crashed session left changed on a server."""

from typing import Annotated

import click

from tuibench import sanitize
from tuibench.cli.options.server_options import ServerOptions
from tuibench.cli.output.log import info
from tuibench.cli.runner.event_loop import run_async
from tuibench.errors import ExitCode, TuibenchError
from tuibench.model.option import Option
from tuibench.model.target import Target
from tuibench.tuning.undo.leftovers import Leftover, leftovers, restore_leftover
from tuibench.tuning.undo.restore import RestoreOutcome


def restore(
    server: ServerOptions,
    wait: Annotated[
        float, Option("--wait", metavar="SECONDS", help="Seconds to retry while the server is unreachable.")
    ] = 30,
    dry_run: Annotated[
        bool, Option("--dry-run", help="List what remains to be restored; change nothing.")
    ] = False,
) -> None:
    """The journal contains the server and the user of each session; the password comes from -p, MYSQL_PWD
    or an option file. Only values that tuibench set, and that have not been changed since, are restored.
    """
    found = leftovers()
    if not found:
        click.echo("nothing to restore")
        return
    if dry_run:
        for leftover in found:
            click.echo(sanitize.text(leftover.text))
        return
    login = server.target()
    results = [run_async(_restore_one(leftover, server, login, wait)) for leftover in found]
    raise click.exceptions.Exit(ExitCode.DONE if all(results) else ExitCode.RUN_FAILED)


async def _restore_one(leftover: Leftover, server: ServerOptions, login: Target, wait: float) -> bool:
    """Restore the settings of one crashed session; True if none remain."""
    if leftover.header is None:
        info(leftover.problem)
        return False
    target = server.over(leftover.header.target, login)
    click.echo(sanitize.text(leftover.text))
    try:
        restored = await restore_leftover(
            leftover, target, retry_seconds=wait, notify=lambda text: info(f"  {text}")
        )
    except TuibenchError as error:
        info(f"  {error}")
        return False
    for one in restored:
        click.echo(f"  {sanitize.text(one.text)}")
    if any(one.outcome is RestoreOutcome.UNCLEAR for one in restored):
        info(f"  to keep a value that is not known to be tuibench's: remove {leftover.path}")
    return not any(one.pending for one in restored) and not leftover.problem
