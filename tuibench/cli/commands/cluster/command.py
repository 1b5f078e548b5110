"""`tuibench cluster check`: describes each load host, and checks that it can reach the server."""

from collections.abc import Sequence
from typing import Annotated

import click

from tuibench import sanitize
from tuibench.cli.options.run_options import make_cluster
from tuibench.cli.options.server_options import ServerOptions
from tuibench.cli.output.formats import JSON, TEXT, TextOrJson, check_format, echo_json
from tuibench.cli.output.log import info
from tuibench.cli.parsing.click_command import Argument, PlanValues, Takes
from tuibench.errors import ExitCode, UsageError
from tuibench.model.cluster.check import HostCheck
from tuibench.model.option import Option
from tuibench.units import DASH, count, decimal, milliseconds, pluralize, signed

CHECK = "check"
HEADER = ("host", "tuibench", "Python", "native", "cores", "files", "round trip", "clock", "server")


def cluster(
    action: Annotated[str, Argument(metavar="check", help="Action: check.")],
    hosts: Annotated[PlanValues, Takes("cluster")],
    server: ServerOptions,
    hosts_only: Annotated[bool, Option("--hosts-only", help="Do not connect to the server.")] = False,
    output: TextOrJson = TEXT,
) -> None:
    """check connects to each host as a load does, and shows its version, cores, open files, round trip and
    clock, and the time of a login from there to the server. Exit code 1 if a host cannot take part.
    """
    from tuibench.cli.runner.event_loop import run_async
    from tuibench.clock import SystemClock
    from tuibench.session.load.host_check import check_hosts

    if action != CHECK:
        raise UsageError(f"cluster takes check, not '{action}'", "tuibench cluster check --cluster ssh:a,b")
    check_format(output)
    plan = make_cluster(hosts)
    if plan is None:
        raise UsageError("which hosts?", "name them: --cluster ssh:host1,host2")
    target = None if hosts_only else server.target()
    found = run_async(check_hosts(plan, target, SystemClock()))
    if output == JSON:
        echo_json(found)
    else:
        click.echo(checks_text(found), nl=False)
        info(summary_line(found))
    is_well = not any(host.problem for host in found)
    raise click.exceptions.Exit(ExitCode.DONE if is_well else ExitCode.RUN_FAILED)


def checks_text(found: Sequence[HostCheck]) -> str:
    """Table of the hosts, followed by the reasons why a host cannot take part."""
    rows = [HEADER, *map(_row, found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = [_aligned(row, widths) for row in rows]
    for host in found:
        lines += [f"{host.name}: {text}" for text in (host.problem, *host.notes) if text]
        lines += [f"  → {host.remedy}"] if host.remedy else []
    return "".join(f"{sanitize.text(line)}\n" for line in lines)


def summary_line(found: Sequence[HostCheck]) -> str:
    """Summary of all hosts in one line."""
    well = [host for host in found if not host.problem]
    cores = pluralize(sum(host.cores for host in well), "core")
    if len(well) == len(found):
        return f"{pluralize(len(found), 'host')} with {cores}: ready"
    return f"{len(found) - len(well)} of {pluralize(len(found), 'host')} cannot take part"


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        text.ljust(width) if number < 3 else text.rjust(width)
        for number, (text, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


def _row(host: HostCheck) -> tuple[str, ...]:
    if host.clock_offset_ms is None:
        return (host.name, *(DASH,) * (len(HEADER) - 1))
    return (
        sanitize.text(host.name),
        host.version,
        host.python,
        host.native or DASH,
        count(host.cores),
        count(host.descriptors),
        milliseconds(host.round_trip_ms),
        f"{signed(host.clock_offset_ms, 1)} ±{decimal(host.clock_error_ms, 1)} ms",
        milliseconds(host.server_ms),
    )
