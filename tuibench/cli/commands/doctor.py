"""`tuibench doctor`: preflight checks of server, host and data."""

from collections.abc import Sequence
from typing import Annotated

import click

from tuibench import sanitize
from tuibench.cli.click_command import Argument, PlanValues, Takes
from tuibench.cli.formats import JSON, TEXT, TextOrJson, check_format, echo_json
from tuibench.cli.options import CONTEXT, make_plan, parse_profile_options, split_profile_and_options
from tuibench.cli.output import info
from tuibench.cli.server_options import ServerOptions
from tuibench.errors import ExitCode, UsageError
from tuibench.model.findings import Finding, Severity
from tuibench.model.option import Option
from tuibench.model.plan import OptionValue

__all__ = ["CONTEXT", "doctor"]

DEFAULT_PROFILE = "oltp_read_write"


def doctor(
    context: click.Context,
    server: ServerOptions,
    planned: Annotated[PlanValues, Takes("doctor")],
    profile: Annotated[str, Argument(help="The planned load: a profile's name or file.")] = DEFAULT_PROFILE,
    disk: Annotated[
        bool, Option("--disk", help="Also measure the disk of the data directory: 10 s, writes 270 MB.")
    ] = False,
    disk_dir: Annotated[str, Option("--disk-dir", help="Measure the disk of this folder instead.")] = "",
    output: TextOrJson = TEXT,
) -> None:
    """Each finding has a severity (ok, note, warning, next, stop) and says how to fix it. Nothing is changed.
    Tables that do not exist yet are the next step. Exit code 1 if a run would be invalid, 3 if the server
    cannot be reached. Options of the profile are accepted, too: --tables=4 --table-size=100000 …
    """
    from tuibench.cli.runner import run_async
    from tuibench.clock import SystemClock
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
    raise click.exceptions.Exit(ExitCode.RUN_FAILED if stops else ExitCode.DONE)


def _split_profile(first: str, arguments: Sequence[str]) -> tuple[str, dict[str, OptionValue]]:
    """Split off the profile. It is optional: the parser may take an option of the data set for its name."""
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
        click.echo(f"{finding.severity:<8}{finding.id:<{width}}  {sanitize.text(finding.found)}")
        if finding.remedy and finding.severity is not Severity.OK:
            click.echo(f"{'':<8}{'':<{width}}  → {sanitize.text(finding.remedy)}")
    info(summary_line(findings))


def summary_line(findings: Sequence[Finding]) -> str:
    """Summary of all findings in one line."""
    counts = {severity: sum(finding.severity is severity for finding in findings) for severity in Severity}
    parts = [_count_text(number, severity) for severity, number in counts.items() if number]
    end = "ready to run"
    if counts[Severity.STOP]:
        end = "a run would be invalid"
    elif counts[Severity.NEXT]:
        end = "ready to run once the tables exist"
    return f"{', '.join(parts)}: {end}"


def _count_text(number: int, severity: Severity) -> str:
    return f"{number} {severity}{'s' if severity not in (Severity.OK, Severity.NEXT) and number > 1 else ''}"
