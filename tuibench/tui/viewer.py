"""Runs the viewer of a session, or of a recorded run, until the operator leaves."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tuibench.model.message import SessionEnded
from tuibench.session.service.client import SessionClient
from tuibench.tui.app import TuibenchApp
from tuibench.tui.bridge import ViewerClient
from tuibench.tui.scenes.player import ScenePlayer
from tuibench.tui.terminal.styled_app import DisplayOptions

if TYPE_CHECKING:
    from tuibench.session.replay import ReplayClient


def run_viewer(
    socket: Path,
    display: DisplayOptions,
    *,
    owner: bool = True,
    read_only: bool = False,
    scene: ScenePlayer | None = None,
) -> SessionEnded | None:
    """Show the session at `socket` until the operator leaves; returns its end message, None if it continues.

    The `owner` started it and can stop it without confirmation. A `read_only` viewer cannot control it. A
    `scene` is played from the first sample on.

    Raises RunError if no session answers, or if it ends without an end message (the terminal is restored).
    """
    connect = partial(SessionClient.join, socket, read_only=read_only)
    app = TuibenchApp(connect, display, owner=owner, read_only=read_only, scene=scene)
    ended = app.run(mouse=display.mouse)
    if app.failure is not None:
        raise app.failure
    return ended


def run_replay(client: "ReplayClient", display: DisplayOptions) -> None:
    """Show a recorded run until the operator leaves."""

    async def connect() -> ViewerClient:
        return client

    TuibenchApp(connect, display, player=client).run(mouse=display.mouse)
