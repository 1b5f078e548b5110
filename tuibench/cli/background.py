"""Sessions that go on without a screen: the options for it, and how one is started in the background."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from tuibench import paths
from tuibench.cli.finding import asked, how_to_reach
from tuibench.cli.loop import run_async
from tuibench.cli.talk import say
from tuibench.errors import ExitCode, RunError, TuibenchError, UsageError
from tuibench.model.command import Stop
from tuibench.model.message import Ended, RunState, Status
from tuibench.session import sockets
from tuibench.session.client import SessionClient
from tuibench.session.launch import launch
from tuibench.session.spec import ServiceSpec, SessionSpec

GRACE_SECONDS = 60.0
LONGEST_GRACE_SECONDS = 10.0**9
LOG = "sessions.log"


@dataclass(frozen=True)
class Background:
    """Options of every command that starts a session."""

    SECTION: ClassVar = "In the background"

    detach: Annotated[
        bool, typer.Option("--detach", help="Start it in the background, print its id and return.")
    ] = False
    grace: Annotated[
        float | None,
        typer.Option("--grace", help="Seconds it goes on when nobody watches [60; with --detach: for good]."),
    ] = None

    def demand_sane(self) -> None:
        """Raises UsageError for a grace that is no time."""
        if self.grace is not None and not 0 <= self.grace <= LONGEST_GRACE_SECONDS:
            raise UsageError(f"--grace is a number of seconds, not {self.grace:g}")

    @property
    def grace_seconds(self) -> float | None:
        """None for as long as it likes. Raises UsageError for what is no time."""
        self.demand_sane()
        if self.grace is None:
            return None if self.detach else GRACE_SECONDS
        return self.grace


async def start_session(
    spec: SessionSpec, grace_seconds: float | None, pass_fds: tuple[int, ...] = ()
) -> Path:
    """Starts the session's own process; the socket it listens on."""
    socket = sockets.path_of(spec.session)
    service = ServiceSpec(session=spec, socket=str(socket), grace_seconds=grace_seconds)
    await launch(service, paths.state_dir() / LOG, pass_fds)
    if spec.metrics_at is not None:
        say(f"metrics at {(await asked(socket)).metrics}")
    return socket


def detached(
    spec: SessionSpec, background: Background, run_dir: str = "", pass_fds: tuple[int, ...] = ()
) -> ExitCode:
    """Starts a session and leaves it once its load runs: its id on stdout, how to reach it on stderr.

    Raises what kept it from running.
    """
    ended = run_async(_started(spec, background.grace_seconds, pass_fds))
    if ended is not None and ended.exit_code:
        error = TuibenchError(ended.summary.failure or "the run ended before it began")
        error.exit_code = ExitCode(ended.exit_code)
        raise error
    typer.echo(spec.session)
    for line in (
        [f"ended already, recorded in {ended.run_directory}"]
        if ended
        else how_to_reach(spec.session, run_dir)
    ):
        say(line)
    return ExitCode.DONE


async def _started(spec: SessionSpec, grace_seconds: float | None, pass_fds: tuple[int, ...]) -> Ended | None:
    """Returns when the load runs, or with the last word of a session that has ended before."""
    socket = await start_session(spec, grace_seconds, pass_fds)
    client = await SessionClient.join(socket, samples=0)
    try:
        return await _running(client)
    except BaseException:
        await client.submit(Stop())
        raise
    finally:
        await client.close()


async def _running(client: SessionClient) -> Ended | None:
    if client.hello.status.state is not RunState.STARTING:
        return None
    async for news in client.messages():
        if isinstance(news, Ended):
            return news
        if isinstance(news, Status) and news.state not in (RunState.STARTING, RunState.STOPPING):
            return None
    raise RunError("the session's process ended before its load ran", f"see {paths.state_dir() / LOG}")
