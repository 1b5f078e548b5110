"""`tuibench live`, `run`, `attach`, `doctor`: a load, with a screen or without."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import typer
from msgspec.structs import force_setattr, replace

from tuibench.base import sanitize
from tuibench.base.errors import ExitCode, UsageError
from tuibench.base.feature import installed, resolve
from tuibench.cli import candidates
from tuibench.cli.arguments import STDOUT, SysbenchLine
from tuibench.cli.options import (
    CONTEXT,
    AdhocSqlOptions,
    BackgroundOptions,
    PrivateServerOptions,
    ScreenOptions,
    SessionOptions,
    StartOptions,
    TextOrJson,
    check_lag_objectives,
    make_plan,
    parse_profile_options,
    split_profile_and_options,
)
from tuibench.cli.output import JSON, ONE_FORMAT_ON_STDOUT, TEXT, check_format, echo_json, info
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.typer_command import PlanValues, Takes
from tuibench.model.findings import Finding, Severity
from tuibench.model.plan import OptionValue, RunPlan
from tuibench.model.server import Target

if TYPE_CHECKING:
    from tuibench.cli.headless import HeadlessOutput

__all__ = ["CONTEXT", "attach", "doctor", "live", "run"]

NO_PRIVATE_SERVER = "--cpus, --memory, --my-cnf and --mysqld-option are for private servers"
JSON_LATER_HINT = "take it from its folder, or with tuibench ctl ID stop --wait --format json"


class ReportOptions(msgspec.Struct, frozen=True):
    """Options of `run`."""

    SECTION: ClassVar = "Output"

    verbosity: Annotated[int, typer.Option(help="5: all … 3: lines and summary … 0: errors only.")] = 3
    json_file: Annotated[
        str,
        typer.Option(
            "--json",
            metavar="FILE",
            help="Write the summary to this file as JSON; - for stdout, the rest then goes to stderr.",
        ),
    ] = ""
    csv_file: Annotated[
        str,
        typer.Option(
            "--csv",
            metavar="FILE",
            help="Write a row for each interval to this file; - for stdout, as with --json.",
        ),
    ] = ""
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="On stdout: text, json (as --json=-) or csv.")
    ] = TEXT
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help='End with exit code 4 if this holds: "p95>50ms", "errors>0.1%", "tps<500", …',
        ),
    ] = None

    def __post_init__(self) -> None:
        check_format(self.form, (TEXT, JSON, "csv"))
        if self.form != TEXT:
            name = f"{self.form}_file"
            if getattr(self, name) not in ("", STDOUT):
                raise UsageError(f"--format={self.form} is --{self.form}=-, not a file", "give one of them")
            force_setattr(self, name, STDOUT)

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

    def given_option(self) -> str:
        """The first given option that requires the result of a single run; empty if there is none."""
        given = {"--json": self.json_file, "--csv": self.csv_file, "--fail-if": self.fail_if}
        return next((name for name, value in given.items() if value), "")


TLS_DEVIATION = (
    "the connections are encrypted if the server offers TLS, sysbench's only with --mysql-ssl=on: "
    "--mysql-ssl=off measures without"
)


def _deviations(line: SysbenchLine | None, server: ServerOptions, target: Target) -> tuple[str, ...]:
    """The differences between sysbench's run of a command line and this one; reports them to the user."""
    if line is None:
        return ()
    found = list(line.deviations)
    is_preferred = server.ssl_mode is None and target.ssl_mode == "preferred"
    if line.is_sysbenchs and is_preferred and not target.is_local:
        found.append(TLS_DEVIATION)
        info(f"tuibench: differs from sysbench: {TLS_DEVIATION}")
    return tuple(found)


def run(
    context: typer.Context,
    adhoc: AdhocSqlOptions,
    server: ServerOptions,
    options: Annotated[PlanValues, Takes("run")],
    session: SessionOptions,
    background: BackgroundOptions,
    report: ReportOptions,
    private: PrivateServerOptions,
    start: StartOptions,
    profile: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.profiles, help="A profile's name (oltp_read_write, …) or file."
        ),
    ] = "",
    server_program: Annotated[
        str,
        typer.Option(
            "--server",
            metavar="FILE",
            help="With --ab: each value on private servers of this program that start with it.",
        ),
    ] = "",
) -> None:
    """All options of the profile are accepted, too: --tables=4 --table-size=100000 --point-selects=10 …;
    tuibench profiles show PROFILE lists them.
    """
    from tuibench.cli.headless import run_headless, warn_leftovers, write_summary_json
    from tuibench.cli.output import check_writable
    from tuibench.cli.runner import new_session_spec, run_async, start_detached
    from tuibench.load import prepared_worker

    if background.detach and (option := report.given_option()):
        raise UsageError(f"{option} cannot wait for a run in the background", JSON_LATER_HINT)
    if background.grace is not None and not background.detach:
        raise UsageError("--grace applies to a run in the background", "add --detach")
    session.keep_records()
    plan = adhoc.apply_to(make_plan(options, *adhoc.profile_and_options(profile, context.args)))
    if server_program:
        if option := report.given_option():
            raise UsageError(
                f"{option} is for a run on one server", "tuibench versions --show DIR has formats"
            )
        over_starts = next(resolve(one.run_over_starts) for one in installed() if one.run_over_starts)
        raise typer.Exit(over_starts(plan, server_program, private, start))
    if start != StartOptions():
        raise UsageError("--start is for runs on private servers", "--server=mariadbd, with --ab")
    if private.is_given:
        raise UsageError(NO_PRIVATE_SERVER, "--server=mariadbd starts them, with --ab")
    target = server.target()
    plan = replace(plan, deviations=_deviations(context.obj, server, target))
    output = report.output(plan)
    check_lag_objectives(plan, report.fail_if or ())
    check_writable(report.json_file)
    check_writable(report.csv_file)
    warn_leftovers()
    spec = background.spec(new_session_spec(plan, target, yes_this_server=session.yes_this_server))
    if background.detach:
        raise typer.Exit(start_detached(spec, background))
    if plan.cluster is None:
        prepared_worker.prepare(keeps_stdout=True)
    summary, code = run_async(run_headless(spec, output))
    if report.json_file:
        write_summary_json(report.json_file, summary)
    raise typer.Exit(code)


def live(
    context: typer.Context,
    adhoc: AdhocSqlOptions,
    server: ServerOptions,
    options: Annotated[PlanValues, Takes("live")],
    session: SessionOptions,
    background: BackgroundOptions,
    screen: ScreenOptions,
    profile: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.profiles, help="A profile's name (oltp_read_write, …) or file."
        ),
    ] = "",
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
    spec = background.spec(new_session_spec(plan, server.target(), yes_this_server=session.yes_this_server))
    raise typer.Exit(run_session(spec, background, display))


DRIVER, IN_BROWSER = "TEXTUAL_DRIVER", "web_driver"


def is_in_browser() -> bool:
    """True if this viewer was started by `tuibench web`: stdout then carries the screen, and no other
    output.
    """
    return IN_BROWSER in os.environ.get(DRIVER, "")


def attach(
    session: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.sessions,
            metavar="[ID]",
            help="Id of the session, or a unique part of it.",
            show_default=False,
        ),
    ] = "",
    *,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Read only: the session refuses changes by this viewer.")
    ] = False,
    screen: ScreenOptions,
) -> None:
    """Name the session by its id or a unique part of it; if there is only one, the id can be omitted. Any
    number of viewers may attach. x leaves the screen and the run continues; q asks whether to stop it.
    With --read-only nothing can be changed.
    """
    from tuibench.cli.runner import end_viewer, find_session_socket, open_viewer, require_terminal

    if not is_in_browser():
        require_terminal("tuibench ctl status")
    display = screen.display_options()
    socket = find_session_socket(session)
    ended = open_viewer(socket, display, owner=False, read_only=read_only)
    if is_in_browser():
        raise typer.Exit(ended.exit_code if ended is not None else ExitCode.DONE)
    raise typer.Exit(end_viewer(ended, socket))


DEFAULT_PROFILE = "oltp_read_write"


def doctor(
    context: typer.Context,
    server: ServerOptions,
    planned: Annotated[PlanValues, Takes("doctor")],
    profile: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.profiles, help="The planned load: a profile's name or file."
        ),
    ] = DEFAULT_PROFILE,
    disk: Annotated[
        bool, typer.Option("--disk", help="Also measure the disk of the data directory: 10 s, writes 270 MB.")
    ] = False,
    disk_dir: Annotated[str, typer.Option(help="Measure the disk of this folder instead.")] = "",
    output: TextOrJson = TEXT,
) -> None:
    """Each finding has a severity (ok, note, warning, next, stop) and says how to fix it. Nothing is changed.
    Tables that do not exist yet are the next step. Exit code 1 if a run would be invalid, 3 if the server
    cannot be reached. Options of the profile are accepted, too: --tables=4 --table-size=100000 …
    """
    from tuibench.base.clock import SystemClock
    from tuibench.cli.runner import run_async
    from tuibench.session.preflight import diagnose
    from tuibench.workload import library

    check_format(output)
    name, options = _split_profile(profile, context.args)
    plan = make_plan(planned, name, options)
    program = library.load_program(name, plan.profile_options)
    findings = run_async(
        diagnose(server.target(), plan, program, SystemClock(), disk=disk_dir or ("" if disk else None))
    )
    _print_findings(findings, as_json=output == JSON)
    stops = any(finding.severity is Severity.STOP for finding in findings)
    raise typer.Exit(ExitCode.RUN_FAILED if stops else ExitCode.DONE)


def _split_profile(first: str, arguments: Sequence[str]) -> tuple[str, dict[str, OptionValue]]:
    """The profile and its options. The profile is optional, so `first` may be an option of the data set."""
    if first.startswith("--"):
        try:
            return split_profile_and_options(first, arguments)
        except UsageError:
            return DEFAULT_PROFILE, parse_profile_options([first, *arguments])
    return split_profile_and_options(first, arguments)


def _print_findings(findings: Sequence[Finding], *, as_json: bool) -> None:
    if as_json:
        echo_json(findings)
        return
    width = max(len(finding.id) for finding in findings)
    for finding in findings:
        typer.echo(f"{finding.severity:<8}{finding.id:<{width}}  {sanitize.text(finding.found)}")
        if finding.remedy and finding.severity is not Severity.OK:
            typer.echo(f"{'':<8}{'':<{width}}  → {sanitize.text(finding.remedy)}")
    info(summary_line(findings))


def summary_line(findings: Sequence[Finding]) -> str:
    """The number of findings of each severity, in a line."""
    counts = {severity: sum(finding.severity is severity for finding in findings) for severity in Severity}
    parts = [
        f"{number} {severity}{'s' if severity not in (Severity.OK, Severity.NEXT) and number > 1 else ''}"
        for severity, number in counts.items()
        if number
    ]
    end = "ready to run"
    if counts[Severity.STOP]:
        end = "a run would be invalid"
    elif counts[Severity.NEXT]:
        end = "ready to run once the tables exist"
    return f"{', '.join(parts)}: {end}"
