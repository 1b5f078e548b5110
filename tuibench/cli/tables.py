"""`tuibench prepare`, `prewarm`, `check`, `cleanup`, `script`: the tables of a profile."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuibench.base import sanitize
from tuibench.base.errors import ExitCode, UsageError
from tuibench.base.units import pluralize
from tuibench.cli import candidates
from tuibench.cli.options import CONTEXT, TextOrJson, split_profile_and_options
from tuibench.cli.output import JSON, TEXT, check_format, echo_json, info, warning
from tuibench.cli.server_options import ServerOptions
from tuibench.model.option import check_choice
from tuibench.model.server import Target

if TYPE_CHECKING:
    from tuibench.load.conditions import ConditionResult
    from tuibench.load.tables import LoadOptions, LoadProgress
    from tuibench.workload.program import Program

MOST_CONNECTIONS = 1000

__all__ = ["CONTEXT", "check", "cleanup", "prepare", "prewarm", "script"]


def prepare(
    context: typer.Context,
    profile: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.profiles, help="A profile's name (oltp_read_write, …) or file."
        ),
    ],
    server: ServerOptions,
    threads: Annotated[
        int,
        typer.Option(
            "--threads", "--num-threads", help="Connections that load in parallel; 0: by number of cores."
        ),
    ] = 0,
    load_with: Annotated[
        str, typer.Option(metavar="WAY", help="auto, bulk (MariaDB), infile (LOAD DATA LOCAL) or insert.")
    ] = "auto",
    without_binlog: Annotated[
        bool,
        typer.Option(
            "--without-binlog", help="Do not write the rows to the binary log: replicas do not get them."
        ),
    ] = False,
    create_database: Annotated[
        bool, typer.Option("--create-database", help="Create the database if it does not exist.")
    ] = False,
) -> None:
    """Options of the data set: --tables=1 --table-size=10000 --create-secondary=on --auto-inc=on …"""
    from tuibench.cli.runner import run_async
    from tuibench.load.tables import INSERT_METHODS, LoadOptions
    from tuibench.workload import library, script

    if not 0 <= threads <= MOST_CONNECTIONS:
        raise UsageError(f"--threads must be between 0 and {MOST_CONNECTIONS} for prepare, not {threads}")
    planned = {"threads": threads} if threads else {}
    name, options = split_profile_and_options(profile, context.args)
    program = library.load_program(name, {**options, **planned}, command=script.PREPARE)
    if program.script is not None and (load_with != "auto" or without_binlog):
        raise UsageError(
            "a Lua script loads its tables itself: --load-with and --without-binlog are for profiles"
        )
    method = LoadOptions(
        parallel=threads or 2 * (os.cpu_count() or 1),
        insert_method=check_choice("--load-with", load_with, INSERT_METHODS),
        binlog=not without_binlog,
    )
    run_async(make_tables(server.target(), program, method, create_database=create_database))


async def make_tables(
    target: Target, program: Program, method: LoadOptions, *, create_database: bool = False
) -> None:
    """Create and fill the tables with a progress bar, and report the result.

    The tables of a script are created by its own command `prepare`, if it has one.
    """
    from tuibench.load.tables import ensure_database
    from tuibench.load.tables import prepare_tables as load
    from tuibench.workload.dataset import build_data_set

    if program.script is not None:
        from tuibench.workload import script

        if create_database:
            await ensure_database(target)
        if script.PREPARE in script.declared(program.script).commands:
            await run_script_command(target, program, script.PREPARE)
        return
    counts = ("{task.completed:,.0f} of {task.total:,.0f} rows", "{task.fields[rate]:,.0f} rows/s")
    with progress_bar(f"loading {build_data_set(program).describe()}", *counts, rate=0.0) as update:

        def progress(now: LoadProgress) -> None:
            update(total=now.total_rows, completed=now.rows, rate=now.rows_per_second)

        made = await load(
            target, program, method=method, progress=progress, create_database=create_database, warn=warning
        )
    info(
        f"loaded {pluralize(made.tables, 'table')} with {made.rows:,} rows in {made.seconds:.1f} s "
        f"({made.rows_per_second:,.0f} rows/s)"
    )
    if made.insert_method == "insert" and method.insert_method == "auto":
        info(
            "with SET GLOBAL local_infile=ON, this server accepts LOAD DATA LOCAL, which takes about a "
            "third less time"
        )


async def run_script_command(target: Target, program: Program, command: str) -> None:
    """Run a command of a Lua script; what it prints goes to stderr."""
    from tuibench.load.script_commands import run_command

    count = await run_command(target, program, command, write=sys.stderr.write)
    connections = "1 connection" if count == 1 else f"{count} connections"
    info(
        f"{command} of {program.script.path if program.script else program.profile} is done on {connections}"
    )


def prewarm(
    context: typer.Context,
    profile: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.profiles, help="A profile's name (oltp_read_write, …) or file."
        ),
    ],
    server: ServerOptions,
) -> None:
    """Analyses each table and reads it through each of its indexes. Give their number: --tables=4."""
    from tuibench.cli.runner import run_async
    from tuibench.load.tables import prepare_line, prewarm_tables
    from tuibench.workload import library, script

    program = library.load_program(*split_profile_and_options(profile, context.args), command=script.PREWARM)
    target = server.target()
    if program.script is not None:
        run_async(run_script_command(target, program, script.PREWARM))
        return
    tables = run_async(prewarm_tables(target, program, lambda table: info(f"reading {table}")))
    if not tables:
        raise UsageError(
            "the tables of the data set are missing", f"create them: {prepare_line(program, target)}"
        )
    info(f"read {pluralize(len(tables), 'table')}")


AFTER_LOAD_CHOICES = {"auto": None, "on": True, "off": False}


def check(
    context: typer.Context,
    profile: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.profiles, help="A profile's name or file, or a data set (tpcc, …)."
        ),
    ],
    server: ServerOptions,
    after_load: Annotated[
        str,
        typer.Option(
            metavar="on|off|auto",
            help="No load has run since the tables were loaded: on, off, or auto to detect it.",
        ),
    ] = "auto",
    output: TextOrJson = TEXT,
) -> None:
    """Prints each condition; for a violated one, the number of violations and an example. Exit code 0 if
    all conditions hold, otherwise 1. Can be used during a load: each condition is checked in one
    snapshot.
    """
    from tuibench.cli.runner import run_async
    from tuibench.load.conditions import ConditionOutcome
    from tuibench.workload import library
    from tuibench.workload.dataset import DEFAULT_PROFILES

    check_format(output)
    fresh = AFTER_LOAD_CHOICES[check_choice("--after-load", after_load, AFTER_LOAD_CHOICES)]
    name, options = split_profile_and_options(profile, context.args)
    name = name if name in library.available_profiles() else DEFAULT_PROFILES.get(name, name)
    verdicts = run_async(_check(server.target(), library.load_program(name, options), fresh))
    if output == JSON:
        echo_json(verdicts)
    else:
        typer.echo(verdicts_text(verdicts))
    broken = any(verdict.outcome is ConditionOutcome.BROKEN for verdict in verdicts)
    raise typer.Exit(ExitCode.RUN_FAILED if broken else ExitCode.DONE)


def cleanup(
    context: typer.Context,
    profile: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.profiles, help="A profile's name (oltp_read_write, …) or file."
        ),
    ],
    server: ServerOptions,
) -> None:
    """Drops only tables with the names and columns of the data set. Give their number: --tables=4."""
    from tuibench.cli.runner import run_async
    from tuibench.load.tables import drop_tables as drop
    from tuibench.workload import library, script

    program = library.load_program(*split_profile_and_options(profile, context.args), command=script.CLEANUP)
    if program.script is not None:
        run_async(run_script_command(server.target(), program, script.CLEANUP))
        return
    result = run_async(drop(server.target(), program, warning))
    info(f"dropped {', '.join(result.dropped) or 'nothing'}")
    for table in result.foreign:
        info(f"left {table}: its columns differ from the data set's")
    if result.others:
        info(f"left {', '.join(result.others)}: --tables={len(program.tables)} does not include them")


def script(
    context: typer.Context,
    profile: Annotated[
        str, typer.Argument(autocompletion=candidates.profiles, help="The script's file: ./my.lua.")
    ],
    command: Annotated[str, typer.Argument(help="A command of sysbench.cmdline.commands.")],
    server: ServerOptions,
    threads: Annotated[
        int,
        typer.Option(
            "--threads", "--num-threads", help="Connections of a command that is declared as parallel."
        ),
    ] = 1,
) -> None:
    """Other options are the script's. As in sysbench: tuibench ./my.lua --tables=4 COMMAND"""
    from tuibench.cli.runner import run_async
    from tuibench.workload import library

    if not 1 <= threads <= MOST_CONNECTIONS:
        raise UsageError(f"--threads must be between 1 and {MOST_CONNECTIONS}, not {threads}")
    name, options = split_profile_and_options(profile, context.args)
    program = library.load_program(name, {**options, "threads": threads}, command=command)
    run_async(run_script_command(server.target(), program, command))


async def _check(target: Target, program: Program, after_load: bool | None) -> tuple[ConditionResult, ...]:
    """Check the conditions with a progress bar, as that takes minutes on large tables."""
    from tuibench.load.conditions import check_consistency

    text = "{task.completed} of {task.total} conditions{task.fields[now]}"
    with progress_bar(f"checking {program.data_set}", text, now="") as update:

        def progress(done: int, total: int, under_way: tuple[str, ...]) -> None:
            asked = f", asking for {', '.join(under_way)}" if under_way else ""
            update(total=total, completed=done, now=asked)

        return await check_consistency(target, program, after_load=after_load, progress=progress)


def verdicts_text(verdicts: Sequence[ConditionResult]) -> str:
    """One line per condition, and a summary line."""
    from tuibench.load.conditions import ConditionOutcome

    name = max(len(verdict.condition) for verdict in verdicts)
    outcome = max(map(len, ConditionOutcome))
    lines = [
        f"{verdict.condition:>{name}}  {verdict.outcome:{outcome}}  {verdict.description}"
        + (f" — {verdict.message}" if verdict.message else "")
        for verdict in verdicts
    ]
    words = {
        ConditionOutcome.HOLDS: "hold",
        ConditionOutcome.BROKEN: "broken",
        ConditionOutcome.SKIPPED: "skipped",
    }
    count = {each: sum(verdict.outcome is each for verdict in verdicts) for each in words}
    parts = ", ".join(f"{number} {words[each]}" for each, number in count.items() if number)
    return "\n".join(map(sanitize.text, [*lines, f"{len(verdicts)} conditions: {parts}"]))


@contextmanager
def progress_bar(words: str, *texts: str, **fields: Any) -> Iterator[Callable[..., None]]:
    """A progress bar on stderr, followed by these columns of text; yields the function that updates it.

    Without a terminal there is no bar, and the function does nothing.
    """
    if not sys.stderr.isatty():
        yield lambda **_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), *map(TextColumn, texts))
    with Progress(
        *columns,
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(file=sanitize.unsafe(sys.stderr)),
        transient=True,
    ) as bars:
        task = bars.add_task(words, total=0, **fields)
        yield lambda **changes: bars.update(task, **changes)
