"""New sessions: name, folder of the record, and start in the background."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from tuibench import paths
from tuibench.cli.options.session_options import BackgroundOptions, replica_choice
from tuibench.cli.output.log import info
from tuibench.cli.runner.event_loop import run_async
from tuibench.cli.runner.session_lookup import fetch_hello, session_hints
from tuibench.errors import ExitCode, RunError, TuibenchError
from tuibench.model.command import Stop
from tuibench.model.message import RunState, SessionEnded, Status
from tuibench.model.plan import RunPlan
from tuibench.model.target import Target
from tuibench.session.launch import launch
from tuibench.session.service import unix_sockets
from tuibench.session.service.client import SessionClient
from tuibench.session.spec import ServiceSpec, SessionSpec

if TYPE_CHECKING:
    from tuibench.demo.server import PrivateServer
    from tuibench.tui.terminal.styled_app import DisplayOptions

LOG_FILE = "sessions.log"


async def start_session(
    spec: SessionSpec, grace_seconds: float | None, pass_fds: tuple[int, ...] = ()
) -> Path:
    """Start the session's own process; returns the socket that it listens on."""
    socket = unix_sockets.socket_path(spec.session)
    service = ServiceSpec(session=spec, socket=str(socket), grace_seconds=grace_seconds)
    await launch(service, paths.state_dir() / LOG_FILE, pass_fds)
    if spec.metrics_at is not None:
        info(f"metrics at {(await fetch_hello(socket)).metrics}")
    return socket


def run_session(
    spec: SessionSpec, background: BackgroundOptions, display: "DisplayOptions | None"
) -> ExitCode:
    """Start a session and open the screen on it, or leave it in the background without `display`."""
    from tuibench.cli.runner.viewer import end_viewer, open_viewer

    if display is None:
        return start_detached(spec, background)
    socket = run_async(start_session(spec, background.grace_seconds))
    return end_viewer(open_viewer(socket, display), socket)


def start_detached(
    spec: SessionSpec, background: BackgroundOptions, pass_fds: tuple[int, ...] = ()
) -> ExitCode:
    """Start a session and leave it once its load runs: its id on stdout, how to reach it on stderr.

    Raises the error that prevented it from running.
    """
    ended = run_async(_start_and_wait(spec, background.grace_seconds, pass_fds))
    if ended is not None and ended.exit_code:
        error = TuibenchError(ended.summary.failure or "the run ended before its load started")
        error.exit_code = ExitCode(ended.exit_code)
        raise error
    click.echo(spec.session)
    for line in (
        [f"already ended; recorded in {ended.run_directory}"]
        if ended
        else session_hints(spec.session, has_load=not spec.plan.is_watch)
    ):
        info(line)
    return ExitCode.DONE


async def _start_and_wait(
    spec: SessionSpec, grace_seconds: float | None, pass_fds: tuple[int, ...]
) -> SessionEnded | None:
    """Return when the load runs, or with the end message of a session that ended before."""
    socket = await start_session(spec, grace_seconds, pass_fds)
    client = await SessionClient.join(socket, samples=0)
    try:
        return await _wait_until_running(client)
    except BaseException:
        await client.submit(Stop())
        raise
    finally:
        await client.close()


async def _wait_until_running(client: SessionClient) -> SessionEnded | None:
    if client.hello.status.state is not RunState.STARTING:
        return None
    async for news in client.messages():
        if isinstance(news, SessionEnded):
            return news
        if isinstance(news, Status) and news.state not in (RunState.STARTING, RunState.STOPPING):
            return None
    raise RunError("the session's process ended before its load ran", f"see {paths.state_dir() / LOG_FILE}")


def spec_on_private_server(plan: RunPlan, server: "PrivateServer") -> SessionSpec:
    """Spec of a session on a private server. Each of them ends with the other."""
    spec = new_session_spec(plan, server.target)
    return replace(spec, inherit_fds=(server.watch_fd,), private_server=str(server.directory))


def new_session_spec(plan: RunPlan, target: Target, *, yes_this_server: bool = False) -> SessionSpec:
    """Spec of a session that starts now, named after its time and profile; creates its record's folder.

    Raises UsageError for an invalid address of a replica.
    """
    replicas = replica_choice(plan.replicas, target)
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.path.basename(plan.profile).removesuffix('.toml')}"
    directory = record_folder(paths.runs_dir(), stem)
    return SessionSpec(
        session=directory.name,
        plan=plan,
        target=target,
        run_directory=str(directory),
        yes_this_server=yes_this_server,
        replicas=replicas,
    )


def record_folder(parent: Path, stem: str) -> Path:
    """Create a folder for a record, named after its start. Raises RunError if that fails."""
    try:
        return paths.claim(parent, stem)
    except OSError as error:
        raise RunError(
            f"cannot create a folder for the record in {parent}: {error.strerror}",
            "choose another place with --run-dir or TUIBENCH_HOME",
        ) from error
