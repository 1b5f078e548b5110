"""`tuibench doctor`: is everything ready for a load, and what falsifies its figures."""

from collections.abc import Sequence
from typing import Annotated

import typer

from tuibench.cli.formats import JSON, TEXT, TextOrJson, demand_format, echo_json
from tuibench.cli.groups import grouped
from tuibench.cli.loop import run_async
from tuibench.cli.profile_options import CONTEXT, profile_and_options, profile_options
from tuibench.cli.run_options import RunOptions
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.talk import say
from tuibench.clock import SystemClock
from tuibench.errors import ExitCode, UsageError
from tuibench.model.finding import Finding, Severity
from tuibench.model.plan import OptionValue
from tuibench.session.preflight import diagnose
from tuibench.workload import library

__all__ = ["CONTEXT", "doctor"]

DETAILS = (
    "Every finding says how much it matters (ok, note, warning, stop), what was found, and what mends it. "
    "Nothing is changed. Exit code 1 if a run would be wrong, 3 if the server cannot be reached. Options of "
    "the profile are taken, too: --tables=4 --table-size=100000 …"
)
DEFAULT_PROFILE = "oltp_read_write"


@grouped
def doctor(
    context: typer.Context,
    server: ServerOptions,
    profile: Annotated[
        str, typer.Argument(help="A profile's name or file: what the load is to be.")
    ] = DEFAULT_PROFILE,
    threads: Annotated[
        int, typer.Option("--threads", "--num-threads", help="Connections that are to work at a time.")
    ] = 1,
    rate: Annotated[float, typer.Option("--rate", help="Transactions that are to start a second.")] = 0,
    output: TextOrJson = TEXT,
) -> None:
    demand_format(output)
    name, options = _profile(profile, context.args)
    plan = RunOptions(threads=threads, rate=rate).plan(name, options)
    program = library.program(name, {**options, "threads": threads})
    findings = run_async(diagnose(server.target(), plan, program, SystemClock()))
    _print(findings, as_json=output == JSON)
    stops = any(finding.severity is Severity.STOP for finding in findings)
    raise typer.Exit(ExitCode.RUN_FAILED if stops else ExitCode.DONE)


def _profile(first: str, arguments: Sequence[str]) -> tuple[str, dict[str, OptionValue]]:
    """The profile may be left out: then the parser has taken an option of the data set for its name."""
    if first.startswith("--"):
        try:
            return profile_and_options(first, arguments)
        except UsageError:
            return DEFAULT_PROFILE, profile_options([first, *arguments])
    return profile_and_options(first, arguments)


def _print(findings: Sequence[Finding], *, as_json: bool) -> None:
    if as_json:
        echo_json(findings)
        return
    width = max(len(finding.id) for finding in findings)
    for finding in findings:
        typer.echo(f"{finding.severity:<8}{finding.id:<{width}}  {finding.found}")
        if finding.remedy and finding.severity is not Severity.OK:
            typer.echo(f"{'':<8}{'':<{width}}  → {finding.remedy}")
    say(verdict(findings))


def verdict(findings: Sequence[Finding]) -> str:
    """All findings in one line."""
    counts = {severity: sum(finding.severity is severity for finding in findings) for severity in Severity}
    told = [_counted(number, severity) for severity, number in counts.items() if number]
    end = "a run would be wrong" if counts[Severity.STOP] else "ready to run"
    return f"{', '.join(told)}: {end}"


def _counted(number: int, severity: Severity) -> str:
    return f"{number} {severity}{'s' if severity is not Severity.OK and number > 1 else ''}"
