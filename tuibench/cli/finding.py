"""What the commands that talk to running sessions have in common: where to look, which one, how to say it."""

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from tuibench.cli.loop import run_async
from tuibench.model.message import Hello, RunState
from tuibench.session import roster
from tuibench.session.client import SessionClient

RunDir = Annotated[str, typer.Option("--run-dir", help="The --run-dir that it was started with, if any.")]


def look_in(run_dir: str) -> None:
    """Sessions that were started with a folder of their own are found there only."""
    if run_dir:
        os.environ["TUIBENCH_HOME"] = os.path.abspath(run_dir)


def socket_of(session: str) -> Path:
    """The socket of the session meant; empty is the only one. Raises SessionAwayError and UsageError."""
    return run_async(roster.find(session))


def how_to_reach(session: str, run_dir: str = "") -> list[str]:
    """For who leaves a session running: how to see it again, to steer it, to end it."""
    place = f" --run-dir {shlex.quote(run_dir)}" if run_dir else ""
    return [
        f"watch it:  tuibench attach {session}{place}",
        f"steer it:  tuibench ctl {session} threads 16{place}",
        f"end it:    tuibench ctl {session} stop --wait{place}",
    ]


async def asked(socket: Path) -> Hello:
    """What a session says of itself. Raises SessionAwayError."""
    client = await SessionClient.connect(socket)
    await client.close()
    return client.hello


def outlook(hello: Hello) -> str:
    """For who leaves a session running: how long it goes on."""
    if hello.status.state in (RunState.STOPPING, RunState.ENDED):
        return f"{hello.session} is ending"
    if hello.viewers:
        return f"{hello.session} goes on, watched by {hello.viewers} more"
    if hello.grace_seconds is None:
        return f"{hello.session} goes on until it is stopped"
    return f"{hello.session} goes on for {hello.grace_seconds:g} s, and longer if somebody watches it"
