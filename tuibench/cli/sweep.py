"""`tuibench sweep`: a load under every combination of threads and settings, each several times: one table."""

import asyncio
import os
import time
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from tuibench import paths, units
from tuibench.cli.driving import announce_leftovers, demand_writable
from tuibench.cli.groups import Without, grouped
from tuibench.cli.loop import ENDING_SIGNALS, run_async
from tuibench.cli.own_sql import OwnSql
from tuibench.cli.profile_options import CONTEXT
from tuibench.cli.run_options import RunOptions
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.sweep_options import SweepOptions
from tuibench.cli.sweep_progress import sweep_talk
from tuibench.cli.sweep_results import ResultOptions, afterwards, located, recorded
from tuibench.cli.talk import say
from tuibench.errors import ExitCode, TuibenchError, UsageError
from tuibench.load.prepare import make_database
from tuibench.model.sweep import SweepPlan
from tuibench.model.target import Target
from tuibench.mysql.errors import NoDatabaseError
from tuibench.record.sweep import SweepFolder
from tuibench.record.sweep_runs import ping_ms
from tuibench.record.sweep_text import checked, written
from tuibench.session.sweeping import sweep as sweeping
from tuibench.session.sweeping.conductor import InterruptedSweep

__all__ = ["CONTEXT", "sweep"]

DETAILS = (
    "Several profiles are separated by commas, and so are several values of a profile's option: "
    "--table-size=10000,100000. A sweep that was cut short goes on with --resume DIR."
)

NO_PLAN = ("yes_this_server", "run_dir")
"""Options of a load that are not part of a sweep's plan."""

LoadOptions = Annotated[
    RunOptions, Without("threads", "time", "events", "warmup_time", "plan_text", "ramp", "ramp_rate")
]


@grouped
def sweep(
    context: typer.Context,
    server: ServerOptions,
    own: OwnSql,
    axes: SweepOptions,
    options: LoadOptions,
    results: ResultOptions,
    profile: Annotated[str, typer.Argument(help="Profiles: oltp_read_only,oltp_write_only.")] = "",
) -> None:
    checked(results.table, results.form)
    if options.run_dir:
        os.environ["TUIBENCH_HOME"] = os.path.abspath(options.run_dir)
    if results.show or results.compare:
        results.write(recorded([profile, *context.args], results))
        return
    demand_writable(results.out)
    plan = _plan(context, profile, own, axes, options)
    announce_leftovers()
    if results.resume:
        folder = SweepFolder.resume(located(results.resume))
    elif plan is not None:
        login = server.target()
        folder = run_async(_begin(plan, login, create_database=axes.create_database))
    else:
        raise UsageError("no profile is named", "give one, such as oltp_read_write, --sql, or --resume DIR")
    with closing(folder):
        target = _same_again(folder, plan, server, options) if results.resume else login
        code = _conduct(folder, target, results, yes_this_server=options.yes_this_server)
    raise typer.Exit(code)


async def _begin(plan: SweepPlan, target: Target, *, create_database: bool) -> SweepFolder:
    """A new sweep, on a database that is made if it is to be."""
    if create_database:
        await make_database(target)
    try:
        return await sweeping.begin(plan, target, _new_folder(plan))
    except NoDatabaseError as error:
        if plan.prepare:
            error.hint = "--create-database makes it, beside the tables of --prepare"
        raise


def _same_again(
    folder: SweepFolder, plan: SweepPlan | None, server: ServerOptions, options: RunOptions
) -> Target:
    """The server of a sweep that goes on. Raises UsageError if the plan or the server is another one."""
    record = folder.sweep.record
    if plan is not None:
        sweeping.demand_same_plan(record.plan, plan, any_seed=not options.rand_seed)
    target = server.over(record.target, server.target())
    run_async(sweeping.demand_same_server(folder, target))
    return target


def _plan(
    context: typer.Context, profile: str, own: OwnSql, axes: SweepOptions, options: RunOptions
) -> SweepPlan | None:
    """The plan that the command line tells; None if it tells nothing of one."""
    if profile or own.is_given:
        return axes.plan(*own.named(profile, context.args), options, own)
    of_plan = [one.name for group in (OwnSql, SweepOptions, RunOptions) for one in fields(group)]
    told = [name for name in of_plan if name not in NO_PLAN and _is_given(context, name)]
    if told or context.args:
        option = context.args[0] if context.args else f"--{told[0].replace('_', '-')}"
        raise UsageError(
            f"{option} is part of a plan, but no profile is named", "give the whole plan, or none"
        )
    return None


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _conduct(
    folder: SweepFolder, target: Target, results: ResultOptions, *, yes_this_server: bool
) -> ExitCode:
    """Runs what is left of a sweep and prints what is known in the end, however it ends."""
    trouble: TuibenchError | None = None
    interrupted = False
    try:
        run_async(_run(folder, target, yes_this_server=yes_this_server))
    except InterruptedSweep:
        interrupted = True
    except TuibenchError as error:
        trouble = error
    known = folder.sweep
    if trouble is not None and not known.results and not any(one.prepared for one in known.data):
        folder.discard()
        raise trouble
    if known.done:
        results.write(written(known, results.table, results.form))
    for line in afterwards(known, folder.directory):
        say(line)
    if trouble is not None:
        raise trouble
    if interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.RUN_FAILED if len(known.done) < len(known.results) else ExitCode.DONE


async def _run(folder: SweepFolder, target: Target, *, yes_this_server: bool) -> None:
    record = folder.sweep.record
    server = record.surroundings.server
    with sweep_talk(record.plan) as talk:
        conductor = sweeping.conductor(
            folder, target, talk, hear=talk.hear, show=talk.loading, yes_this_server=yes_this_server
        )
        loop = asyncio.get_running_loop()
        for number in ENDING_SIGNALS:
            loop.add_signal_handler(number, conductor.interrupt)
        talk.tell(
            f"{server.version_text} at {target.where}, ping {units.milliseconds(ping_ms(folder.sweep))}"
        )
        talk.tell(talk.outlook(folder.sweep))
        await conductor.run()


def _new_folder(plan: SweepPlan) -> Path:
    first, *others = dict.fromkeys(case.name.partition(",")[0] for case in plan.cases)
    more = f"-and-{len(others)}-more" if others else ""
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{first}{more}"
    directory, number = paths.sweeps_dir() / stem, 2
    while os.path.exists(directory):
        directory, number = paths.sweeps_dir() / f"{stem}-{number}", number + 1
    return directory
