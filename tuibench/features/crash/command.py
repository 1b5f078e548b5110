"""`tuibench crash`: kills a private server under load, and reports what each setting loses."""

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from tuibench.base import units
from tuibench.base.errors import UsageError
from tuibench.cli import candidates
from tuibench.cli.options import CONTEXT, PrivateServerOptions, make_plan, split_profile_and_options
from tuibench.cli.output import check_writable, info, write_output
from tuibench.cli.typer_command import PlanValues, Takes
from tuibench.model.option import check_range
from tuibench.model.plan import OnError, RunPlan

if TYPE_CHECKING:
    from tuibench.features.crash.runner import CrashRunner
    from tuibench.model.findings import CrashReport

__all__ = ["CONTEXT", "crash"]

FLUSH = "innodb_flush_log_at_trx_commit=1,2,0"
MAX_REPEATS = 1000
RESTART_SECONDS = 6.0
"""The estimated time of a restart, a recovery and a comparison."""


class CrashOptions(msgspec.Struct, frozen=True):
    """The settings to compare, the number of crashes, and the destination of the report."""

    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--setting",
            "--set",
            autocompletion=candidates.settings,
            metavar="NAME=V,…",
            help=f"A setting and its values, repeatable [{FLUSH}].",
        ),
    ] = None
    repeat: Annotated[int, typer.Option(help="Crashes with each combination of settings.")] = 5
    server_program: Annotated[
        str,
        typer.Option(
            "--server", metavar="FILE", help="Server program, mariadbd or mysqld [the first one found]."
        ),
    ] = ""
    power: Annotated[
        bool,
        typer.Option(
            "--power",
            help="Cut the power of the server's disk instead, a file system of its own; Linux, as root.",
        ),
    ] = False
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="text, markdown, html, or json.")
    ] = "text"
    out: Annotated[
        str, typer.Option(metavar="FILE", help="Write the report to this file, not to stdout.")
    ] = ""


def crash(
    context: typer.Context,
    axes: CrashOptions,
    options: Annotated[PlanValues, Takes("crash")],
    private: PrivateServerOptions,
    profile: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.profiles, help="A profile's name (oltp_write_only, …) or file."
        ),
    ] = "",
) -> None:
    """Starts a private server with new tables, kills its process (SIGKILL) under load, starts it again, and
    compares: which acknowledged commits are lost, what became of those without an answer, how long the
    recovery takes, and whether the binary log agrees with the tables. A loss of power (--power) also loses
    what was written and not synced. All options of the profile are accepted, too: --tables=4
    --table-size=100000.
    """
    from tuibench.cli.output import check_format
    from tuibench.cli.runner import private_server, run_async
    from tuibench.cli.tables import make_tables
    from tuibench.features.crash.runner import CrashRunner, Disk
    from tuibench.features.crash.text import FORMATS, crash_text
    from tuibench.features.sweep.planning import build_variants
    from tuibench.load.commit_ledger import with_ledger
    from tuibench.load.tables import LoadOptions
    from tuibench.workload import library

    check_format(axes.form, tuple(FORMATS))
    check_range("--repeat", axes.repeat, 1, MAX_REPEATS)
    check_writable(axes.out)
    variants = build_variants("", axes.setting or (FLUSH,))
    if not profile:
        raise UsageError("missing argument 'profile'", "give one that writes, such as oltp_write_only")
    named = split_profile_and_options(profile, context.args)
    plan = make_plan(options, *named, on_error=OnError.CONTINUE)
    if plan.seconds is None:
        raise UsageError("a crash needs a time of load before it", "give --time, in seconds")
    program = library.load_program(plan.profile, plan.profile_options)
    recorded = with_ledger(program)
    with (
        Disk.mounted() if axes.power else nullcontext() as disk,
        private_server(axes.server_program, private) as server,
    ):
        if disk is not None:
            run_async(disk.take_data(server))
        run_async(make_tables(server.target, program, LoadOptions()))
        reports: list[CrashReport] = []
        try:
            run_async(
                _crashes(CrashRunner(server, plan, recorded, variants, axes.repeat, disk), plan, reports)
            )
        finally:
            if reports:
                write_output(axes.out, (crash_text(reports[-1], axes.form),))


async def _crashes(runner: "CrashRunner", plan: RunPlan, reports: list["CrashReport"]) -> None:
    """Crash the server, and append the report so far to `reports` after each crash."""
    from tuibench.features.crash.text import crash_line

    left = runner.planned * (plan.warmup_seconds + (plan.seconds or 0.0) + RESTART_SECONDS)
    info(f"crashes of the server: {runner.planned}, about {units.hms(left)}")
    async for report in runner.crashes():
        reports.append(report)
        last = report.crashes[-1]
        info(f"[{len(report.crashes)}/{report.planned}] {last.setting}: {crash_line(last)}")
