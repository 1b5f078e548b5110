"""Execution of a sweep: creates its folder or resumes it, shows progress, prints the table."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from tuibench import paths, units
from tuibench.cli.commands.sweep.options import ResultOptions, SweepOptions
from tuibench.cli.commands.sweep.progress import show_sweep_progress
from tuibench.cli.commands.sweep.results import recorded_sweeps_text, sweep_folder, sweep_notes
from tuibench.cli.options.adhoc_sql_options import AdhocSqlOptions
from tuibench.cli.options.private_server_options import PrivateServerOptions
from tuibench.cli.options.run_options import SessionOptions
from tuibench.cli.options.server_options import ServerOptions
from tuibench.cli.output.files import check_writable
from tuibench.cli.output.log import info
from tuibench.cli.parsing.click_command import PlanValues, is_given
from tuibench.cli.runner.event_loop import ENDING_SIGNALS, run_async
from tuibench.cli.runner.headless import warn_leftovers
from tuibench.cli.runner.new_session import record_folder
from tuibench.errors import ExitCode, TuibenchError, UsageError
from tuibench.load.tables.prepare import ensure_database
from tuibench.model.results.sweep import Sweep, SweepPlan
from tuibench.model.results.versions import VersionsSetup
from tuibench.model.target import Target
from tuibench.mysql.errors import NoDatabaseError
from tuibench.record.files.sweep_folder import SweepFolder
from tuibench.record.sweep.formats import check_format, sweep_text
from tuibench.record.sweep.tables import ping_ms
from tuibench.session.sweep import runner as sweeping
from tuibench.session.sweep.planning import parse_words, with_servers
from tuibench.session.sweep.runner import InterruptedSweep
from tuibench.session.sweep.versions import create_server_sweep, parse_builds, versions_runner, with_limits


def run_sweep(
    context: click.Context,
    server: ServerOptions,
    adhoc: AdhocSqlOptions,
    axes: SweepOptions,
    options: PlanValues,
    session: SessionOptions,
    private: PrivateServerOptions,
    results: ResultOptions,
    profile: str,
) -> None:
    """Execute the command. Raises click's Exit with the exit code."""
    check_format(results.table, results.form)
    session.keep_records()
    login = Target()
    if results.show or results.compare:
        results.write(recorded_sweeps_text([profile, *context.args], results))
        return
    check_writable(results.out)
    plan = _plan_from_options(context, profile, adhoc, axes, options)
    if options["host_metrics"] and axes.server_programs:
        raise UsageError("--host-metrics is for a server on another host", "private servers are on this host")
    if private.is_given and not axes.server_programs:
        raise UsageError(
            "--cpus, --memory, --my-cnf and --mysqld-option are for private servers",
            "--server=mariadbd starts them",
        )
    warn_leftovers()
    if results.resume:
        folder = SweepFolder.resume(sweep_folder(results.resume))
        if folder.sweep.record.versions is not None:
            folder.close()
            raise UsageError(
                f"{folder.directory} is a comparison of versions",
                "tuibench versions --resume continues it",
            )
    elif plan is not None and axes.server_programs:
        login = Target()
        folder = _create_on_private_servers(plan, axes, private)
    elif plan is not None:
        login = server.target()
        folder = run_async(_create_sweep(plan, login, create_database=axes.create_database))
    else:
        raise UsageError("no profile is named", "give one, such as oltp_read_write, --sql, or --resume DIR")
    with closing(folder):
        is_resumed = results.resume and folder.sweep.record.servers is None
        target = _resumed_target(folder, plan, server, options) if is_resumed else login
        code = run_and_print(
            folder,
            _run(folder, target, yes_this_server=session.yes_this_server),
            lambda known: results.write(sweep_text(known, results.table, results.form)),
            sweep_notes,
            keeps_tables=True,
        )
    raise click.exceptions.Exit(code)


def _create_on_private_servers(
    plan: SweepPlan, axes: SweepOptions, private: PrivateServerOptions
) -> SweepFolder:
    """Create a sweep on private servers of these programs, each started once as a check."""
    limits = private.every_limit()
    programs = [
        private.build(name, binary)
        for name, binary in parse_builds(parse_words("--server", axes.server_programs))
    ]
    builds = with_limits(programs, limits)
    variants = with_servers(plan.variants, [build.name for build in builds])
    info(f"starting each server once: {', '.join(build.words for build in builds)}")
    plan = replace(plan, variants=variants, prepare=True, cleanup=False)
    return run_async(create_server_sweep(plan, builds, limits[0], _new_folder(plan)))


async def _create_sweep(plan: SweepPlan, target: Target, *, create_database: bool) -> SweepFolder:
    """Create a sweep, and its database if requested."""
    if create_database:
        await ensure_database(target)
    try:
        return await sweeping.create_sweep(plan, target, _new_folder(plan))
    except NoDatabaseError as error:
        if plan.prepare:
            error.hint = "--create-database creates it, too"
        raise


def _resumed_target(
    folder: SweepFolder, plan: SweepPlan | None, server: ServerOptions, options: PlanValues
) -> Target:
    """Server of a resumed sweep. Raises UsageError if the plan or the server differs."""
    record = folder.sweep.record
    if plan is not None:
        sweeping.check_same_plan(record.plan, plan, any_seed=not options["rand_seed"])
    target = server.over(record.target, server.target())
    run_async(sweeping.check_same_server(folder, target))
    return target


def _plan_from_options(
    context: click.Context, profile: str, adhoc: AdhocSqlOptions, axes: SweepOptions, options: PlanValues
) -> SweepPlan | None:
    """Plan given on the command line; None without one."""
    if profile or adhoc.is_given:
        return axes.plan(*adhoc.profile_and_options(profile, context.args), options, adhoc)
    own = [one.name for group in (AdhocSqlOptions, SweepOptions) for one in fields(group)]
    given = [name for name in own if is_given(context, name)] + sorted(options.given)
    if given or context.args:
        name = given[0].removesuffix("_programs").replace("_", "-") if given else ""
        option = context.args[0] if context.args else f"--{name}"
        raise UsageError(
            f"{option} is part of a plan, but no profile is named", "give the whole plan, or none"
        )
    return None


def run_and_print(
    folder: SweepFolder,
    run: Coroutine[Any, Any, None],
    write: Callable[[Sweep], None],
    notes: Callable[[Sweep, Path], list[str]],
    *,
    keeps_tables: bool = False,
) -> ExitCode:
    """Run the rest of a sweep, then write its results and notes, even if it fails or is interrupted.

    A new one that fails before its first result is discarded, unless it left tables on the server.
    """
    failure: TuibenchError | None = None
    interrupted = False
    try:
        run_async(run)
    except InterruptedSweep:
        interrupted = True
    except TuibenchError as error:
        failure = error
    known = folder.sweep
    has_tables = keeps_tables and any(one.prepared for one in known.data)
    if failure is not None and not known.results and not has_tables:
        folder.discard()
        raise failure
    if known.done:
        write(known)
    for line in notes(known, folder.directory):
        info(line)
    if failure is not None:
        raise failure
    if interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.RUN_FAILED if len(known.done) < len(known.results) else ExitCode.DONE


async def _run(folder: SweepFolder, target: Target, *, yes_this_server: bool) -> None:
    record = folder.sweep.record
    if record.servers is not None:
        await run_on_private_servers(folder, record.servers)
        return
    server = record.surroundings.server
    with show_sweep_progress(record.plan) as progress:
        conductor = sweeping.build_runner(
            folder,
            target,
            progress,
            on_message=progress.on_message,
            show=progress.loading,
            yes_this_server=yes_this_server,
        )
        _on_ending_signals(conductor.interrupt)
        progress.report(
            f"{server.version_text} at {target.where}, ping {units.milliseconds(ping_ms(folder.sweep))}"
        )
        progress.report(progress.outlook(folder.sweep))
        await conductor.run()


async def run_on_private_servers(folder: SweepFolder, setup: VersionsSetup) -> None:
    """Run the rest of a sweep, each start on a server of its own."""
    with show_sweep_progress(folder.sweep.record.plan) as progress:
        async with versions_runner(
            folder, progress, on_message=progress.on_message, show=progress.loading
        ) as conductor:
            _on_ending_signals(conductor.interrupt)
            for line in setup.limit_lines:
                progress.report(line)
            progress.report(progress.outlook(folder.sweep))
            await conductor.run()


def _on_ending_signals(interrupt: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in ENDING_SIGNALS:
        loop.add_signal_handler(number, interrupt)


def _new_folder(plan: SweepPlan) -> Path:
    first, *others = dict.fromkeys(case.name.partition(",")[0] for case in plan.cases)
    more = f"-and-{len(others)}-more" if others else ""
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{first}{more}"
    return record_folder(paths.sweeps_dir(), stem)
