"""`tuibench probe`: steps the load up until the server is saturated; talk to stderr, the answer to stdout."""

import asyncio
from typing import Annotated

import typer

from tuibench.cli.driving import announce_leftovers, demand_writable, write_json
from tuibench.cli.formats import JSON, TEXT, TextOrJson, demand_format
from tuibench.cli.groups import grouped
from tuibench.cli.loop import ENDING_SIGNALS, run_async
from tuibench.cli.own_sql import OwnSql
from tuibench.cli.probe_options import ProbeOptions
from tuibench.cli.profile_options import CONTEXT
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.spec import session_spec
from tuibench.cli.talk import moment, say
from tuibench.errors import ExitCode, RunError
from tuibench.model.event import Event, EventKind
from tuibench.model.message import Downward
from tuibench.model.probe import ProbeEnd, ProbeState
from tuibench.model.summary import Summary
from tuibench.record.probe_text import probe_text, step_line
from tuibench.record.recorder import pretty_json
from tuibench.session.core import Session
from tuibench.session.spec import SessionSpec

__all__ = ["CONTEXT", "probe"]

DETAILS = (
    "Threads are doubled until doubling them gains less than 10 %, an objective (--slo) is lost, throughput "
    "collapses or the limit is reached; then levels between are measured, and one on the way back. Each step "
    "lasts until its throughput is known to ±3 %, at most --max-step-time. The answer says where the server "
    "is saturated, what limits it, and how to run the formal test. "
    "Every option of the profile is taken, too: --tables=4 --table-size=100000 …; "
    "tuibench profiles show PROFILE lists them."
)
NOTED = frozenset(
    {EventKind.WARNING, EventKind.RESTART, EventKind.FOREIGN, EventKind.RESTORE, EventKind.ERRORS}
)


@grouped
def probe(
    context: typer.Context,
    own: OwnSql,
    server: ServerOptions,
    options: ProbeOptions,
    profile: Annotated[str, typer.Argument(help="A profile's name (oltp_read_write, …) or file.")] = "",
    json_file: Annotated[
        str, typer.Option("--json", help="Write the summary, the probe in it, to this file; - for stdout.")
    ] = "",
    output: TextOrJson = TEXT,
    yes_this_server: Annotated[
        bool, typer.Option("--yes-this-server", help="It may be loaded though it looks like production.")
    ] = False,
) -> None:
    demand_format(output)
    plan = own.into(options.plan(*own.named(profile, context.args)))
    demand_writable(json_file)
    announce_leftovers()
    spec = session_spec(plan, server.target(), yes_this_server=yes_this_server)
    summary, code = run_async(drive(spec))
    typer.echo(answer_of(summary, output), nl=False)
    say(f"recorded in {spec.run_directory}")
    if json_file:
        write_json(json_file, summary)
    raise typer.Exit(code)


def answer_of(summary: Summary, output: str) -> str:
    """What goes to stdout. Raises RunError when the run ended before there was anything to answer."""
    if summary.probe is None:
        raise RunError(summary.failure or "the probe ended before its first step")
    if output == JSON:
        return pretty_json(summary.probe).decode()
    return probe_text(summary.probe)


async def drive(spec: SessionSpec) -> tuple[Summary, ExitCode]:
    """Runs the session in this process. A signal ends it early, with what it has."""
    session = Session(spec)
    session.listeners.append(Progress().hear)
    await session.open()
    loop = asyncio.get_running_loop()
    for number in ENDING_SIGNALS:
        loop.add_signal_handler(number, session.request_stop, "interrupted")
    say(f"{session.server.version_text} at {session.server.where}, {session.data_set}")
    summary = await session.run()
    if session.error is not None and not summary.seconds:
        raise session.error
    return summary, code_of(session.exit_code, summary)


def code_of(code: ExitCode, summary: Summary) -> ExitCode:
    """A probe that something ended early has failed, whatever it found until then."""
    is_whole = summary.probe is not None and summary.probe.end is not ProbeEnd.ABORTED
    return code if code is not ExitCode.DONE or is_whole else ExitCode.RUN_FAILED


class Progress:
    """Talks of each step once it is over, and of what an operator should know."""

    def __init__(self) -> None:
        self._told = 0

    def hear(self, message: Downward) -> None:
        match message:
            case ProbeState():
                for step in message.steps[self._told :]:
                    say(f"{moment(message.elapsed_seconds)} {step_line(message.order, step)}")
                self._told = len(message.steps)
            case Event() if message.kind in NOTED:
                say(f"{moment(message.elapsed_seconds)} {message.text}")
