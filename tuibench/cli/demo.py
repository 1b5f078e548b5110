"""`tuibench demo`: a private server, small data, and the live monitor on it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from tuibench.cli.background import Background, detached, start_session
from tuibench.cli.driving import Output, drive
from tuibench.cli.groups import grouped
from tuibench.cli.loop import run_async
from tuibench.cli.metrics_options import MetricsOptions
from tuibench.cli.own_sql import OwnSql
from tuibench.cli.planning import PLAN_HELP, RAMP_HELP
from tuibench.cli.prepare import make_tables
from tuibench.cli.profile_options import CONTEXT, profile_options
from tuibench.cli.run_options import RunOptions
from tuibench.cli.screen_options import ScreenOptions
from tuibench.cli.spec import session_spec
from tuibench.cli.talk import say
from tuibench.cli.trial_options import TrialOptions
from tuibench.cli.watching import is_on_terminal, left_running, tell, watch
from tuibench.demo.binaries import examine
from tuibench.demo.server import PrivateServer
from tuibench.errors import ExitCode
from tuibench.load.prepare_load import Method
from tuibench.model.plan import OptionValue
from tuibench.session.spec import SessionSpec
from tuibench.workload import library
from tuibench.workload.compile import known_options

if TYPE_CHECKING:
    from tuibench.tui.look import Look

__all__ = ["CONTEXT", "demo"]

DETAILS = (
    "The server lives in a temporary directory and is gone afterwards, whatever happens, unless --keep is "
    "given. Without a terminal it runs headless."
)

DATA: dict[str, OptionValue] = {"tables": 4, "table_size": 100_000}
HEADLESS_SECONDS = 15.0
THREADS = 8
LOADING_CONNECTIONS = 4


@grouped
def demo(
    context: typer.Context,
    own: OwnSql,
    trial: TrialOptions,
    background: Background,
    metrics: MetricsOptions,
    screen: ScreenOptions,
    profile: Annotated[
        str, typer.Option("--profile", help="Which load to drive; with --sql, whose tables to make.")
    ] = "oltp_read_write",
    threads: Annotated[
        int | None, typer.Option("--threads", help="Connections that work at a time [8].")
    ] = None,
    time: Annotated[
        float | None, typer.Option("--time", help="Seconds to run [until q; 15 without a screen].")
    ] = None,
    plan_text: Annotated[str, typer.Option("--plan", help=PLAN_HELP)] = "",
    ramp: Annotated[str, typer.Option("--ramp", help=RAMP_HELP)] = "",
    client_delay: Annotated[
        str, typer.Option("--client-delay", help="Simulate a network: 20ms more on each round trip.")
    ] = "0",
    headless: Annotated[
        bool, typer.Option("--headless", help="No screen: interval lines and summary.")
    ] = False,
    program_file: Annotated[
        str, typer.Option("--server", help="Server program, mariadbd or mysqld [the first one found].")
    ] = "",
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the server running, and say how to reach it.")
    ] = False,
) -> None:
    on_screen = not headless and is_on_terminal()
    options = {**_data(profile), **profile_options(context.args)}
    program = library.program(profile, options)
    given = RunOptions(
        threads=THREADS if threads is None and not (plan_text or ramp) else threads,
        time=time,
        plan_text=plan_text,
        ramp=ramp,
        client_delay=client_delay,
    )
    seconds = 0 if on_screen or background.detach else HEADLESS_SECONDS
    plan = own.into(given.plan(profile, {} if own.is_given else options, seconds))
    plan = trial.plan(plan, time)
    metrics.demand_free()
    background.demand_sane()
    look = screen.look() if on_screen and not background.detach else None
    with _private_server(program_file, keep=keep) as server:
        run_async(make_tables(server.target, program, Method(parallel=LOADING_CONNECTIONS)))
        spec = metrics.spec(session_spec(plan, server.target, (server.watch_fd,)))
        code = _driven(spec, server, background, look)
    raise typer.Exit(code)


def _data(profile: str) -> dict[str, OptionValue]:
    """How large the tables are made, where the profile's data set asks for that."""
    known = known_options(library.load(profile))
    return DATA if set(DATA) <= set(known) else {}


@contextmanager
def _private_server(program_file: str, *, keep: bool) -> Iterator[PrivateServer]:
    """A server for as long as this lasts; with `keep`, it stays afterwards, and how to reach it is said."""
    server = run_async(_start(program_file, keep=keep))
    try:
        yield server
    finally:
        if keep:
            server.release()
            say(server.how_to_reach())
        else:
            run_async(server.stop())


async def _start(program_file: str, *, keep: bool) -> PrivateServer:
    binary = await asyncio.to_thread(examine, program_file) if program_file else None
    say("starting a private server …")
    server = await PrivateServer.start(binary, keep=keep)
    say(f"{server.binary.flavour} {server.binary.version} in {server.directory}")
    return server


def _driven(
    spec: SessionSpec, server: PrivateServer, background: Background, look: "Look | None"
) -> ExitCode:
    """In the background, on the screen, or headless."""
    if background.detach:
        code = detached(spec, background, pass_fds=(server.watch_fd,))
        server.release()
        return code
    if look is not None:
        return _on_screen(spec, server, look, background.grace_seconds)
    _, code = run_async(drive(spec, Output()))
    return code


def _on_screen(
    spec: SessionSpec, server: PrivateServer, look: "Look", grace_seconds: float | None
) -> ExitCode:
    """The session holds the server's line, too: left alone it restores and records, then the server goes."""
    socket = run_async(start_session(spec, grace_seconds, (server.watch_fd,)))
    ended = watch(socket, look)
    if ended is None:
        server.release()
        return left_running(socket)
    return tell(ended)
