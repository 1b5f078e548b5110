"""Running of commands: a coroutine until a signal, a session, a private server, a screen on a session.

A viewer imports this module before its first paint, so it must not import load, server or recorder modules.
"""

import asyncio
import gc
import os
import shutil
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from msgspec.structs import replace

from tuibench.base import paths, unix_sockets
from tuibench.base.clock import listener, with_notice
from tuibench.base.errors import (
    ExitCode,
    RunError,
    ServerUnavailableError,
    SessionUnreachableError,
    TuibenchError,
    UsageError,
)
from tuibench.cli.options import BackgroundOptions, PrivateServerOptions
from tuibench.cli.output import info
from tuibench.cli.server_options import replica_choice
from tuibench.model.hardware import Hardware
from tuibench.model.message import (
    Hello,
    RunState,
    ServiceSpec,
    SessionEnded,
    SessionMessage,
    SessionSpec,
    Status,
    Stop,
)
from tuibench.model.plan import RunPlan
from tuibench.model.server import Target
from tuibench.model.summary import Summary
from tuibench.session import registry
from tuibench.session.client import SessionClient
from tuibench.session.registry import launch

if TYPE_CHECKING:
    from tuibench.servers.server import PrivateServer
    from tuibench.session.load_run import LoadRun
    from tuibench.tui.script import ViewerScript
    from tuibench.tui.styled_app import DisplayOptions


T = TypeVar("T")

GC_THRESHOLD = 50_000
"""Threshold of the garbage collection after the imports."""

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class InterruptedExit(SystemExit):
    """The user or the system interrupted the command; cleanup is complete."""

    def __init__(self) -> None:
        super().__init__(ExitCode.INTERRUPTED)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine; returns its result. A signal cancels it. Raises InterruptedExit after its cleanup."""
    # Imported and parsed objects stay alive: exclude them from all garbage collections.
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)
    try:
        import uvloop
    except ImportError:
        return asyncio.run(_until_signal(work))
    return uvloop.run(_until_signal(work))


async def _until_signal(work: Coroutine[Any, Any, T]) -> T:
    loop = asyncio.get_running_loop()
    listener.set(lambda text: info(f"tuibench: {text}"))
    task = asyncio.ensure_future(work)
    on_ending_signals(task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        raise InterruptedExit from None
    finally:
        for number in ENDING_SIGNALS:
            loop.remove_signal_handler(number)


def on_ending_signals(end: Callable[..., object], *arguments: object) -> None:
    """Call this function when a signal asks the process to end."""
    for number in ENDING_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, end, *arguments)


async def run_in_process(
    spec: SessionSpec,
    listener: Callable[[SessionMessage], None],
    prepare: Callable[["LoadRun"], Awaitable[None]],
) -> tuple[Summary, ExitCode]:
    """Run a session in this process; a signal ends it early, with its results so far.

    `listener` receives every message. `prepare` is called with the run before its load starts, to report
    about it, or to plan an experiment (`run.laboratory.plan`) that is not part of the plan.

    Raises TuibenchError if the run ended before it measured anything.
    """
    from tuibench.session.load_run import LoadRun

    run = LoadRun(spec)
    run.watcher.bus.listeners.append(listener)
    lifecycle = run.watcher.lifecycle
    async with run:
        on_ending_signals(run.request_stop, "interrupted")
        await prepare(run)
        summary = await run.run()
    if lifecycle.error is not None and not summary.seconds:
        raise lifecycle.error
    for one in summary.not_restored:
        info(one.text)
    return summary, lifecycle.exit_code


def find_session_socket(session: str) -> Path:
    """The socket of a session; an empty name selects the only session.

    Raises SessionUnreachableError if there is no session, UsageError if several match.
    """
    return run_async(reach_session(session))


async def reach_session(session: str) -> Path:
    """The socket of a session, with a notice if some do not answer at once."""

    async def notice() -> str:
        return f"connecting to session {session} …" if session else "connecting to the session …"

    return await with_notice(registry.find_session(session), notice)


def session_hints(session: str, *, has_load: bool = True) -> list[str]:
    """Lines that say how to attach to a session that continues, to control and to end it."""
    return [
        f"to watch:    tuibench attach {session}",
        f"to control:  tuibench ctl {session} {'threads 16' if has_load else 'set sync_binlog=0'}",
        f"to stop:     tuibench ctl {session} stop --wait",
    ]


async def fetch_hello(socket: Path) -> Hello:
    """The hello message of a session. Raises SessionUnreachableError if it does not answer."""
    client = await SessionClient.connect(socket)
    await client.close()
    return client.hello


def lifetime_text(hello: Hello) -> str:
    """Remaining lifetime of a session that is left running."""
    if hello.status.state in (RunState.STOPPING, RunState.ENDED):
        return f"{hello.session} is ending"
    if hello.viewers:
        return f"{hello.session} continues, watched by {hello.viewers} more"
    if hello.grace_seconds is None:
        return f"{hello.session} continues until it is stopped"
    return f"{hello.session} continues for {hello.grace_seconds:g} s, and longer while a viewer is attached"


LOG_FILE = "sessions.log"


async def start_session(spec: SessionSpec, grace_seconds: float | None) -> Path:
    """Start the session's own process; returns the socket that it listens on. A long wait is reported."""

    async def notice() -> str:
        return f"connecting to {spec.target.where} …"

    socket = unix_sockets.socket_path(spec.session)
    service = ServiceSpec(session=spec, socket=str(socket), grace_seconds=grace_seconds)
    await with_notice(launch(service, paths.state_dir() / LOG_FILE), notice)
    if spec.metrics_at is not None:
        info(f"metrics at {(await fetch_hello(socket)).metrics}")
    return socket


def run_session(
    spec: SessionSpec, background: BackgroundOptions, display: "DisplayOptions | None"
) -> ExitCode:
    """Start a session and open the screen on it, or leave it in the background without `display`."""

    if display is None:
        return start_detached(spec, background)
    socket = run_async(start_session(spec, background.grace_seconds))
    return end_viewer(open_viewer(socket, display), socket)


def start_detached(spec: SessionSpec, background: BackgroundOptions) -> ExitCode:
    """Start a session, and leave it when its load runs; prints its id on stdout, hints on stderr.

    Raises TuibenchError if the load could not be started.
    """
    ended = run_async(_start_and_wait(spec, background.grace_seconds))
    if ended is not None and ended.exit_code:
        error = TuibenchError(ended.summary.failure or "the run ended before its load started")
        error.exit_code = ExitCode(ended.exit_code)
        raise error
    typer.echo(spec.session)
    for line in (
        [f"already ended; recorded in {ended.run_directory}"]
        if ended
        else session_hints(spec.session, has_load=not spec.plan.is_watch)
    ):
        info(line)
    return ExitCode.DONE


async def _start_and_wait(spec: SessionSpec, grace_seconds: float | None) -> SessionEnded | None:
    """Start a session, and wait until its load runs; returns its end message if it ended before that."""
    socket = await start_session(spec, grace_seconds)
    client = await SessionClient.join(socket, samples=0)
    try:
        if client.hello.status.state is not RunState.STARTING:
            return None
        async for news in client.messages():
            if isinstance(news, SessionEnded):
                return news
            if isinstance(news, Status) and news.state not in (RunState.STARTING, RunState.STOPPING):
                return None
        raise RunError(
            "the session's process ended before its load ran", f"see {paths.state_dir() / LOG_FILE}"
        )
    except BaseException:
        await client.submit(Stop())
        raise
    finally:
        await client.close()


def spec_on_private_server(plan: RunPlan, server: "PrivateServer") -> SessionSpec:
    """The spec of a session on a private server; the session ends with the server, and vice versa."""
    spec = new_session_spec(replace(plan, hardware=server.hardware), server.target)
    return replace(
        spec,
        inherit_fds=(server.watch_fd,),
        private_server=str(server.directory),
        control=server.control,
    )


def new_session_spec(plan: RunPlan, target: Target, *, yes_this_server: bool = False) -> SessionSpec:
    """The spec of a session that starts now, named after time and profile; creates the folder of its record.

    Raises UsageError for an invalid address of a replica, RunError if the folder cannot be created.
    """
    replicas = replica_choice(plan.replicas, target)
    directory = record_folder(paths.runs_dir(), os.path.basename(plan.profile).removesuffix(".toml"))
    return SessionSpec(
        session=directory.name,
        plan=plan,
        target=target,
        run_directory=str(directory),
        yes_this_server=yes_this_server,
        replicas=replicas,
    )


def record_folder(parent: Path, subject: str) -> Path:
    """Create a folder for a record, named after its start and its subject. Raises RunError if that fails."""
    try:
        return paths.claim(parent, f"{time.strftime('%Y%m%d-%H%M%S')}-{subject}")
    except OSError as error:
        raise RunError(
            f"cannot create a folder for the record in {parent}: {error.strerror}",
            "choose another place with --run-dir or TUIBENCH_HOME",
        ) from error


@contextmanager
def private_server(
    program_file: str,
    options: PrivateServerOptions,
    *,
    keep: bool = False,
    own: Sequence[str] = (),
    disk: Hardware | None = None,
) -> Iterator["PrivateServer"]:
    """Run a private server during the context; with `keep`, it continues, and its address is reported.

    `program_file` is the server program, empty for the first one found. `own` are options of its command line
    that those of the user override. With `disk`, its disk is simulated. Raises UsageError for invalid options
    and limits, ServerUnavailableError if the server ended by itself.
    """
    server = run_async(_start_server(program_file, options, keep=keep, own=own, disk=disk))
    ended: ServerUnavailableError | None = None
    try:
        yield server
    except TuibenchError as error:
        if ended := _why_ended(server):
            raise ended from error
        raise
    else:
        if ended := _why_ended(server):
            raise ended
    finally:
        _leave(server, keep=keep, is_running=ended is None)


def _why_ended(server: "PrivateServer") -> ServerUnavailableError | None:
    """The error of a server that ended during the command; None if it is running."""
    try:
        run_async(server.check_running())
    except ServerUnavailableError as error:
        return error
    return None


def _leave(server: "PrivateServer", *, keep: bool, is_running: bool) -> None:
    """Stop the server; with `keep`, leave it, and report its address, or its folder if it has ended."""
    if not keep:
        run_async(server.stop())
        return
    server.release()
    for line in server.how_to_reach().splitlines() if is_running else [f"its files: {server.directory}"]:
        info(line)


async def _start_server(
    program_file: str,
    options: PrivateServerOptions,
    *,
    keep: bool,
    own: Sequence[str],
    disk: Hardware | None,
) -> "PrivateServer":
    from tuibench.servers.binaries import find_binary, inspect_binary
    from tuibench.servers.server import PrivateServer

    limits = options.limits()
    words: tuple[str, ...] = ()
    binary = await asyncio.to_thread(inspect_binary, program_file) if program_file else None
    if options.is_given:
        if binary is None:
            binary = await asyncio.to_thread(find_binary)
        words = options.build("server", binary).options
    info("starting a private server …")
    server = await PrivateServer.start(binary, keep=keep, options=(*own, *words), limits=limits, disk=disk)
    info(f"{server.binary.flavour} {server.binary.version} in {server.directory}")
    if disk is not None:
        info("its disk can be simulated; so it runs without asynchronous I/O (innodb_use_native_aio=OFF)")
    if server.limited:
        info(f"it is limited to {server.limited}")
    return server


def require_terminal(instead: str) -> None:
    """Raises UsageError if there is no terminal."""
    if not is_on_terminal():
        raise UsageError("the live screen needs a terminal", f"without one: {instead}")


def is_on_terminal() -> bool:
    """True if all standard streams are a terminal: keys come from stdin, the screen goes to stderr."""
    return sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()


def open_viewer(
    socket: Path,
    display: "DisplayOptions",
    *,
    owner: bool = True,
    read_only: bool = False,
    scene: "ViewerScript | None" = None,
) -> SessionEnded | None:
    """Open the screen on a session; returns the end message, None if the session continues."""
    from tuibench.tui import viewer

    return viewer.run_viewer(socket, display, owner=owner, read_only=read_only, scene=scene)


def end_viewer(ended: SessionEnded | None, socket: Path) -> ExitCode:
    """Print the result of a session that has ended, otherwise how to reach it; returns the exit code."""
    return print_result(ended) if ended is not None else report_left_running(socket)


def report_left_running(socket: Path) -> ExitCode:
    """Report how to reach a session that continues, unless the terminal is gone."""
    if not is_on_terminal():
        return ExitCode.INTERRUPTED
    try:
        hello = run_async(fetch_hello(socket))
    except SessionUnreachableError as error:
        info(f"tuibench: {error}")
        return ExitCode.DONE
    for line in (lifetime_text(hello), *session_hints(hello.session, has_load=not hello.plan.is_watch)):
        info(line)
    return ExitCode.DONE


def print_result(ended: SessionEnded) -> ExitCode:
    """Print the answer on the terminal; returns the exit code of the run."""
    from tuibench.report.answer import exit_summary

    for line in exit_summary(ended, shutil.get_terminal_size().columns):
        typer.echo(line)
    return ExitCode(ended.exit_code)
