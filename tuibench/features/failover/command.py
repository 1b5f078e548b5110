"""`tuibench failover`: kills a private source under load, and reports what each mode of replication loses."""

from contextlib import ExitStack
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
from tuibench.model.plan import OnError

if TYPE_CHECKING:
    from tuibench.features.failover.result import FailoverReport
    from tuibench.features.failover.runner import FailoverRunner

__all__ = ["CONTEXT", "failover"]

MODES = "async,semisync,semisync-after-commit"
MAX_REPEATS = 1000
MAX_REPLICAS = 5
GROUP_REPLICAS = 2
"""A group of two members has no majority when one of them dies."""

MAX_LAG_SECONDS, MAX_TIMEOUT_SECONDS = 60.0, 3600.0
RESTART_SECONDS = 12.0
"""The estimated time of the restarts, the promotion and the comparison of a failover."""


class FailoverOptions(msgspec.Struct, frozen=True):
    """The modes to compare, the replicas, the number of failovers, and the destination of the report."""

    mode: Annotated[
        str,
        typer.Option(
            metavar="MODE,…",
            help="Modes: async, semisync (AFTER_SYNC), semisync-after-commit, and MySQL's group.",
        ),
    ] = MODES
    replicas: Annotated[
        int | None, typer.Option(help="Replicas of the source [1; 2 with a group].", show_default=False)
    ] = None
    lag: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="The replicas receive everything this late; what is under way at the kill is lost.",
        ),
    ] = 0.02
    semisync_timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="A semi-synchronous source waits this long for a replica, then goes on without it.",
        ),
    ] = 10.0
    repeat: Annotated[int, typer.Option(help="Failovers in each mode.")] = 5
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
            help="Cut the power of the source's disk instead, a file system of its own; Linux, as root.",
        ),
    ] = False
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="text, markdown, html, or json.")
    ] = "text"
    out: Annotated[
        str, typer.Option(metavar="FILE", help="Write the report to this file, not to stdout.")
    ] = ""


def failover(
    context: typer.Context,
    axes: FailoverOptions,
    options: Annotated[PlanValues, Takes("failover")],
    private: PrivateServerOptions,
    profile: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.profiles, help="A profile's name (oltp_write_only, …) or file."
        ),
    ] = "",
) -> None:
    """Starts a private source and its replicas with new tables, kills the source's process (SIGKILL) under
    load, promotes the most advanced replica, lets the load go on there, and compares: which acknowledged
    commits the new primary lacks, which of them others had read, what became of those without an answer, how
    far the old source has diverged, and how long there was no commit. A loss of power (--power) also takes
    from the old source what it had not synced. All options of the profile are accepted, too: --tables=4
    --table-size=100000.
    """
    from tuibench.cli.output import check_format
    from tuibench.cli.runner import private_server, run_async
    from tuibench.cli.tables import make_tables
    from tuibench.features.crash.runner import Disk
    from tuibench.features.failover.dialect import dialect_of
    from tuibench.features.failover.modes import Mode, parse_modes
    from tuibench.features.failover.runner import FailoverRunner
    from tuibench.features.failover.text import FORMATS, failover_text
    from tuibench.load.commit_ledger import with_ledger
    from tuibench.load.tables import LoadOptions
    from tuibench.servers.binaries import find_binary, inspect_binary
    from tuibench.workload import library

    check_format(axes.form, tuple(FORMATS))
    check_range("--repeat", axes.repeat, 1, MAX_REPEATS)
    check_range("--lag", axes.lag, 0, MAX_LAG_SECONDS)
    check_range("--semisync-timeout", axes.semisync_timeout, 0.001, MAX_TIMEOUT_SECONDS)
    check_writable(axes.out)
    modes = parse_modes(axes.mode)
    has_group = Mode.GROUP in modes
    replicas = axes.replicas or (GROUP_REPLICAS if has_group else 1)
    check_range("--replicas", replicas if axes.replicas is None else axes.replicas, 1, MAX_REPLICAS)
    if has_group and replicas < GROUP_REPLICAS:
        raise UsageError(
            "a group of two has no majority when one of them is killed", "--replicas=2, or leave group out"
        )
    if not profile:
        raise UsageError("missing argument 'profile'", "give one that writes, such as oltp_write_only")
    named = split_profile_and_options(profile, context.args)
    plan = make_plan(options, *named, on_error=OnError.CONTINUE)
    if plan.seconds is None:
        raise UsageError("a failover needs a time of load before it", "give --time, in seconds")
    program = library.load_program(plan.profile, plan.profile_options)
    recorded = with_ledger(program)
    binary = inspect_binary(axes.server_program) if axes.server_program else find_binary()
    dialect = dialect_of(binary, modes)
    with ExitStack() as stack:
        disk = stack.enter_context(Disk.mounted()) if axes.power else None
        servers = [
            stack.enter_context(private_server(binary.path, private, own=dialect.options(number)))
            for number in range(1, replicas + 2)
        ]
        if disk is not None:
            run_async(disk.take_data(servers[0]))
        run_async(make_tables(servers[0].target, program, LoadOptions()))
        runner = FailoverRunner(
            servers,
            dialect,
            plan,
            recorded,
            modes,
            axes.repeat,
            lag_seconds=axes.lag,
            semisync_timeout_seconds=axes.semisync_timeout,
            disk=disk,
        )
        reports: list[FailoverReport] = []
        try:
            run_async(_failovers(runner, plan.warmup_seconds + plan.seconds, reports))
        finally:
            if reports:
                write_output(axes.out, (failover_text(reports[-1], axes.form),))


async def _failovers(runner: "FailoverRunner", seconds: float, reports: list["FailoverReport"]) -> None:
    """Fail over, and append the report so far to `reports` after each failover."""
    from tuibench.features.failover.text import failover_line

    await runner.prepare()
    left = runner.planned * (seconds + RESTART_SECONDS)
    info(f"failovers: {runner.planned}, about {units.hms(left)}")
    async for report in runner.failovers():
        reports.append(report)
        last = report.failovers[-1]
        info(f"[{len(report.failovers)}/{report.planned}] {last.mode}: {failover_line(last)}")
