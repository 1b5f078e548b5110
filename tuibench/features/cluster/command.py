"""`tuibench cluster check`, `tuibench cluster install` and `tuibench agent`.

`cluster check` describes each load host, and checks that it can reach the server. A host that fails does not
prevent the checks of the others. `cluster install` puts the program there first.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from tuibench import __version__
from tuibench.base import sanitize
from tuibench.base.clock import NS_PER_MS, Clock
from tuibench.base.errors import ExitCode, TuibenchError, UsageError
from tuibench.base.units import DASH, binary_size, count, decimal, milliseconds, pluralize, signed
from tuibench.cli.options import TextOrJson, make_cluster
from tuibench.cli.output import JSON, TEXT, check_format, echo_json, info
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.typer_command import PlanValues, Takes
from tuibench.features.cluster.agent import is_same_machine
from tuibench.features.cluster.carrier import Carrier
from tuibench.features.cluster.host import CommandTiming, HostLink, find_carriers, local_endpoint
from tuibench.features.cluster.messages import BEAT_SECONDS
from tuibench.model.cluster import SSH_PLACE, ClusterPlan, HostCheck
from tuibench.model.server import Target
from tuibench.session.load import MS_PER_SECOND

if TYPE_CHECKING:
    from tuibench.features.cluster.install import Installed

CLOCK_APART_MS = 1000.0
"""A larger clock offset is reported: it makes the logs of both hosts difficult to compare."""


async def check_hosts(plan: ClusterPlan, target: Target | None, clock: Clock) -> tuple[HostCheck, ...]:
    """The properties of each host, and whether it can reach the server, if a target is given."""
    carriers, _ = await find_carriers(plan, clock)
    return tuple(await asyncio.gather(*(_check(carrier, plan, target, clock) for carrier in carriers)))


async def _check(carrier: Carrier, plan: ClusterPlan, target: Target | None, clock: Clock) -> HostCheck:
    try:
        host = await HostLink.connect(carrier, plan, CommandTiming(clock))
    except TuibenchError as error:
        return HostCheck(name=carrier.place, problem=error.message, remedy=error.hint)
    beating = asyncio.create_task(_beat(host, clock))
    try:
        found = _of(host)
        if target is None:
            return found
        place = local_endpoint(target)
        if place and not is_same_machine(host.hello):
            problem = f"{place} is an address of this machine: {host.name} would not find the server there"
            return replace(found, problem=problem, remedy="give the server's name or address: --host=ADDRESS")
        try:
            reached = await host.try_server(target, target.connect_timeout + target.query_timeout)
        except TuibenchError as error:
            return replace(found, problem=error.message, remedy=error.hint)
        if reached.problem:
            return replace(found, problem=f"it cannot reach the server: {reached.problem}")
        return replace(found, server_ms=reached.seconds * MS_PER_SECOND)
    finally:
        beating.cancel()
        await host.end()


async def _beat(host: HostLink, clock: Clock) -> None:
    while True:
        host.beat()
        await clock.sleep(BEAT_SECONDS)


def _of(host: HostLink) -> HostCheck:
    hello, best = host.hello, host.offset.best
    offset_ms, error_ms = best.wall_offset_seconds * MS_PER_SECOND, best.round_trip_ns / 2 / NS_PER_MS
    notes = []
    if hello.version != __version__:
        notes.append(f"this host has version {__version__}: figures of different versions may differ")
    if abs(offset_ms) > CLOCK_APART_MS + error_ms:
        notes.append("its clock differs: this affects the comparison of logs, not the load; run NTP there")
    return HostCheck(
        name=host.label,
        version=hello.version,
        python=hello.python,
        cores=hello.cores,
        descriptors=hello.descriptors,
        native=hello.native,
        clock_offset_ms=offset_ms,
        clock_error_ms=error_ms,
        round_trip_ms=host.offset.recent_round_trip_ns / NS_PER_MS,
        notes=tuple(notes),
    )


CHECK, INSTALL = "check", "install"
HEADER = ("host", "tuibench", "Python", "native", "cores", "files", "round trip", "clock", "server")
EXAMPLE = "tuibench cluster check load1 load2"


def cluster(
    action: Annotated[str, typer.Argument(metavar="check|install", help="Action: check or install.")],
    hosts: Annotated[PlanValues, Takes("cluster")],
    server: ServerOptions,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[HOST]...", help="Hosts reached by ssh: as --cluster ssh:HOST,HOST."),
    ] = None,
    hosts_only: Annotated[bool, typer.Option("--hosts-only", help="Do not connect to the server.")] = False,
    archive: Annotated[
        Path | None,
        typer.Option(
            "--archive",
            metavar="FILE",
            help="install: the archive to send; by default the one that runs this command.",
        ),
    ] = None,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FOLDER",
            help="install: the folder on the host. By default ~/.local/lib, with a link in ~/.local/bin.",
        ),
    ] = "",
    output: TextOrJson = TEXT,
) -> None:
    """check connects to each host as a load does, and shows its version, cores, open files, round trip and
    clock, and the time of a login from there to the server. install first sends an archive of tuibench to
    each host, which then needs nothing else; it connects to no server. Exit code 1 if a host cannot take
    part.
    """
    from tuibench.base.clock import SystemClock
    from tuibench.cli.runner import run_async

    if action not in (CHECK, INSTALL):
        raise UsageError(f"cluster takes check or install, not '{action}'", EXAMPLE)
    if action == CHECK and (archive or to):
        raise UsageError(f"{'--archive' if archive else '--to'} is for cluster install")
    check_format(output)
    if names:
        hosts = hosts.replaced(cluster=(*hosts["cluster"], *(f"{SSH_PLACE}{name}" for name in names)))
    plan = make_cluster(hosts)
    if plan is None:
        raise UsageError("which hosts?", f"name them: {EXAMPLE}")
    is_well = True
    if action == INSTALL:
        installed = run_async(_install(plan, archive, to))
        is_well = not any(one.problem for one in installed)
        if to and is_well:
            plan = replace(plan, program=installed[0].program)
            info(f"a load finds it with --cluster-program={plan.program}")
    target = None if hosts_only or action == INSTALL else server.target()
    found = run_async(check_hosts(plan, target, SystemClock()))
    if output == JSON:
        echo_json(found)
    else:
        typer.echo(checks_text(found), nl=False)
        info(summary_line(found))
    is_well = is_well and not any(host.problem for host in found)
    raise typer.Exit(ExitCode.DONE if is_well else ExitCode.RUN_FAILED)


async def _install(plan: ClusterPlan, archive: Path | None, to: str) -> "tuple[Installed, ...]":
    from tuibench.features.cluster.install import install, packed

    with packed(archive) as sent:
        info(f"sending {binary_size(sent.size)} to {pluralize(len(plan.places), 'host')}")
        installed = await install(plan, sent, to)
    for one in installed:
        info(f"{one.place}: {one.problem or f'installed as {one.program}'}")
    return installed


def checks_text(found: Sequence[HostCheck]) -> str:
    """Table of the hosts, followed by the reasons why a host cannot take part."""
    rows = [HEADER, *map(_row, found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = []
    for row in rows:
        cells = [
            text.ljust(width) if number < 3 else text.rjust(width)
            for number, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    for host in found:
        lines += [f"{host.name}: {text}" for text in (host.problem, *host.notes) if text]
        lines += [f"  → {host.remedy}"] if host.remedy else []
    return "".join(f"{sanitize.text(line)}\n" for line in lines)


def summary_line(found: Sequence[HostCheck]) -> str:
    well = [host for host in found if not host.problem]
    cores = pluralize(sum(host.cores for host in well), "core")
    if len(well) == len(found):
        return f"{pluralize(len(found), 'host')} with {cores}: ready"
    return f"{len(found) - len(well)} of {pluralize(len(found), 'host')} cannot take part"


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


def agent() -> None:
    """A session with --cluster starts it on each of its hosts, over ssh or another command. It runs the
    host's workers, merges their reports, and ends its load when the session is silent or gone. It takes
    no options: server, password and load come over stdin.
    """
    from tuibench.cli.runner import run_async

    run_async(_serve())


async def _serve() -> None:
    import os

    from tuibench import __version__
    from tuibench.base.clock import SystemClock
    from tuibench.features.cluster.agent import Agent, agent_hello, stdio_channel
    from tuibench.load.worker import raise_open_file_limit
    from tuibench.model.tick import Tick
    from tuibench.observe.host import HostSampler, ServerProcess

    clock = SystemClock()
    channel = await stdio_channel()
    raise_open_file_limit()
    workers: set[int] = set()
    sampler = HostSampler(ServerProcess(pid=None), lambda: {os.getpid(), *workers}, clock)

    def sample(pids: list[int]) -> Tick | None:
        workers.clear()
        workers.update(pids)
        return sampler.sample()

    await Agent(channel, clock, sample, agent_hello(__version__)).run()
