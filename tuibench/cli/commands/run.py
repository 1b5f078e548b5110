"""`tuibench run` and `live`: a load without and with a screen.

`tuibench run`: runs a load without a screen and prints sysbench's report.

Also the options for output, files and thresholds of such a run: sysbench's, and tuibench's own.

`tuibench live`: opens the live screen on a given server.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import click
from msgspec.structs import replace

from tuibench.cli.arguments import STDOUT, SysbenchLine
from tuibench.cli.click_command import Argument, PlanValues, Takes
from tuibench.cli.formats import ONE_FORMAT_ON_STDOUT
from tuibench.cli.options import (
    CONTEXT,
    AdhocSqlOptions,
    BackgroundOptions,
    MetricsOptions,
    ScreenOptions,
    SessionOptions,
    check_lag_objectives,
    make_plan,
)
from tuibench.cli.output import info
from tuibench.cli.server_options import ServerOptions
from tuibench.errors import UsageError
from tuibench.model.option import Option
from tuibench.model.plan import RunPlan
from tuibench.model.server import Target

if TYPE_CHECKING:
    from tuibench.cli.headless import HeadlessOutput

__all__ = ["CONTEXT", "live", "run"]


JSON_LATER_HINT = "take it from its folder, or with tuibench ctl ID stop --wait --format json"


@dataclass(frozen=True)
class ReportOptions:
    """Options of `run`."""

    SECTION: ClassVar = "Output"

    verbosity: Annotated[
        int, Option("--verbosity", help="5: all … 3: lines and summary … 0: errors only.")
    ] = 3
    json_file: Annotated[
        str,
        Option(
            "--json",
            metavar="FILE",
            help="Write the summary to this file as JSON; - for stdout, the rest then goes to stderr.",
        ),
    ] = ""
    csv_file: Annotated[
        str,
        Option(
            "--csv",
            metavar="FILE",
            help="Write a row for each interval to this file; - for stdout, as with --json.",
        ),
    ] = ""
    fail_if: Annotated[
        list[str] | None,
        Option(
            "--fail-if",
            metavar="CONDITION",
            help='End with exit code 4 if this holds: "p95>50ms", "errors>0.1%", "tps<500", …',
        ),
    ] = None

    def output(self, plan: RunPlan) -> HeadlessOutput:
        """Output of the run. Raises UsageError for invalid options."""
        from tuibench.cli.headless import HeadlessOutput
        from tuibench.metrics import thresholds

        taken = [
            name for name, path in (("--json", self.json_file), ("--csv", self.csv_file)) if path == STDOUT
        ]
        if len(taken) > 1:
            raise UsageError(ONE_FORMAT_ON_STDOUT, "give the other a file: --csv=run.csv")
        return HeadlessOutput(
            plan.report_seconds,
            plan.histogram,
            self.verbosity,
            csv=self.csv_file,
            csv_seconds=plan.report_seconds or plan.interval_seconds,
            thresholds=tuple(thresholds.parse_threshold(text) for text in self.fail_if or ()),
            is_stdout_taken=bool(taken),
        )

    def check_detachable(self) -> None:
        """Raises UsageError for options that a run in the background does not support."""
        given = {"--json": self.json_file, "--csv": self.csv_file, "--fail-if": self.fail_if}
        for name, value in given.items():
            if value:
                raise UsageError(f"{name} cannot wait for a run in the background", JSON_LATER_HINT)


TLS_DEVIATION = (
    "the connections are encrypted if the server offers TLS, sysbench's only with --mysql-ssl=on: "
    "--mysql-ssl=off measures without"
)


def _deviations(line: SysbenchLine | None, server: ServerOptions, target: Target) -> tuple[str, ...]:
    """How the run of a sysbench command line differs from sysbench's; says so, as figures depend on it."""
    if line is None:
        return ()
    found = list(line.deviations)
    is_preferred = server.ssl_mode is None and target.ssl_mode == "preferred"
    if line.is_sysbenchs and is_preferred and not target.is_local:
        found.append(TLS_DEVIATION)
        info(f"tuibench: differs from sysbench: {TLS_DEVIATION}")
    return tuple(found)


def run(
    context: click.Context,
    adhoc: AdhocSqlOptions,
    server: ServerOptions,
    options: Annotated[PlanValues, Takes("run")],
    session: SessionOptions,
    background: BackgroundOptions,
    report: ReportOptions,
    metrics: MetricsOptions,
    profile: Annotated[str, Argument(help="A profile's name (oltp_read_write, …) or file.")] = "",
) -> None:
    """All options of the profile are accepted, too: --tables=4 --table-size=100000 --point-selects=10 …;
    tuibench profiles show PROFILE lists them.
    """
    from tuibench.cli.headless import run_headless, warn_leftovers, write_summary_json
    from tuibench.cli.output import check_writable
    from tuibench.cli.runner import new_session_spec, run_async, start_detached

    if background.detach:
        report.check_detachable()
    if background.grace is not None and not background.detach:
        raise UsageError("--grace applies to a run in the background", "add --detach")
    session.keep_records()
    plan = adhoc.apply_to(make_plan(options, *adhoc.profile_and_options(profile, context.args)))
    target = server.target()
    plan = replace(plan, deviations=_deviations(context.obj, server, target))
    output = report.output(plan)
    check_lag_objectives(plan, report.fail_if or ())
    check_writable(report.json_file)
    check_writable(report.csv_file)
    warn_leftovers()
    spec = metrics.spec(new_session_spec(plan, target, yes_this_server=session.yes_this_server))
    if background.detach:
        raise click.exceptions.Exit(start_detached(spec, background))
    summary, code = run_async(run_headless(spec, output))
    if report.json_file:
        write_summary_json(report.json_file, summary)
    raise click.exceptions.Exit(code)


def live(
    context: click.Context,
    adhoc: AdhocSqlOptions,
    server: ServerOptions,
    options: Annotated[PlanValues, Takes("live")],
    session: SessionOptions,
    background: BackgroundOptions,
    metrics: MetricsOptions,
    screen: ScreenOptions,
    profile: Annotated[str, Argument(help="A profile's name (oltp_read_write, …) or file.")] = "",
) -> None:
    """The run has its own process: without a viewer it continues for --grace seconds, then stops and
    restores the settings. x leaves the screen, attach opens it again. With --threads=0 the charts show
    the server's own traffic, as in watch, and + adds load. All options of the profile are accepted, too:
    --tables=4 --table-size=100000 …; tuibench profiles show PROFILE lists them.
    """
    from tuibench.cli.headless import warn_leftovers
    from tuibench.cli.runner import new_session_spec, require_terminal, run_session

    if not background.detach:
        require_terminal("tuibench run with the same options, or --detach")
    session.keep_records()
    plan = adhoc.apply_to(make_plan(options, *adhoc.profile_and_options(profile, context.args)))
    warn_leftovers()
    display = None if background.detach else screen.display_options()
    spec = metrics.spec(new_session_spec(plan, server.target(), yes_this_server=session.yes_this_server))
    raise click.exceptions.Exit(run_session(spec, background, display))
