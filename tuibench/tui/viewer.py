"""The viewer of a session or of a recorded run, on the terminal or as an asciinema cast (version 2).

For a cast, the app runs headless and receives the run's messages sample by sample. After each sample the
changed rows of the screen are written, with the time of that sample divided by the speed.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tuibench.model.message import REPLAY_REFUSAL, Command, CommandReply, Hello, SessionEnded
from tuibench.model.tick import Sample
from tuibench.session.client import SessionClient
from tuibench.tui.app import TuibenchApp
from tuibench.tui.script import ViewerScript
from tuibench.tui.steering import UpdatesArrived, ViewerClient
from tuibench.tui.styled_app import DisplayOptions
from tuibench.tui.textual_internals import screen_rows
from tuibench.tui.view import ViewMessage

if TYPE_CHECKING:
    from tuibench.session.replay import ReplayClient


def run_viewer(
    socket: Path,
    display: DisplayOptions,
    *,
    owner: bool = True,
    read_only: bool = False,
    scene: ViewerScript | None = None,
) -> SessionEnded | None:
    """Show the session at `socket` until the operator leaves; returns its end message, None if it continues.

    The `owner` has started the session, and can stop it without confirmation. A `read_only` viewer cannot
    control it. A `scene` is played from the first sample on.

    Raises RunError if no session answers, or if it ends without an end message; the terminal is restored.
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


VERSION = 2
CLEAR = "\x1b[2J\x1b[?25l"
LAST_PICTURE_SECONDS = 3.0

Timed = tuple[float, ViewMessage]
Progress = Callable[[float], None]
"""Called with the time of the run, in seconds, up to which the cast is written."""


class QuietClient:
    """A client without a session: the app gets the run's messages from `write_cast`."""

    def __init__(self, hello: Hello) -> None:
        self.hello = hello

    async def connected(self) -> "QuietClient":
        return self

    async def messages(self) -> AsyncIterator[ViewMessage]:
        """Wait forever."""
        never: asyncio.Future[ViewMessage] = asyncio.get_running_loop().create_future()
        yield await never

    async def submit(self, command: Command) -> CommandReply:
        """Refuse every command."""
        return CommandReply(id=0, ok=False, text=REPLAY_REFUSAL)

    async def close(self) -> None:
        """Do nothing: there is no connection."""


class CastWriter:
    """Writes the cast: the header, then for each frame the rows that changed."""

    def __init__(self, file: IO[str], size: tuple[int, int], started: float, title: str) -> None:
        self._file = file
        self._rows: list[str] = []
        width, height = size
        header = {
            "version": VERSION,
            "width": width,
            "height": height,
            "timestamp": int(started),
            "title": title,
            "env": {"TERM": "xterm-256color"},
        }
        self._line(header)

    def frame(self, seconds: float, rows: Sequence[str]) -> None:
        """Write the changed rows with this time of the cast."""
        changed = [
            f"\x1b[{number};1H{row}"
            for number, row in enumerate(rows, 1)
            if number > len(self._rows) or self._rows[number - 1] != row
        ]
        if changed:
            text = "".join(changed) if self._rows else CLEAR + "".join(changed)
            self._line([round(seconds, 3), "o", text])
        self._rows = list(rows)

    def end(self, seconds: float) -> None:
        """Keep the last frame until this time."""
        self._line([round(seconds, 3), "o", ""])

    def _line(self, content: object) -> None:
        self._file.write(json.dumps(content, ensure_ascii=False) + "\n")


async def write_cast(
    file: IO[str],
    hello: Hello,
    messages: Sequence[Timed],
    display: DisplayOptions,
    size: tuple[int, int],
    speed: float,
    progress: Progress = lambda _: None,
) -> None:
    """Write the whole run as a cast that starts at its first message."""
    client = QuietClient(hello)
    app = TuibenchApp(client.connected, display)
    first = messages[0][0] if messages else 0.0
    started = (
        hello.samples[0].at
        if hello.samples
        else next((message.at for _, message in messages if isinstance(message, Sample)), 0.0)
    )
    writer = CastWriter(file, size, started, f"tuibench {hello.plan.profile}")
    async with app.run_test(size=size) as pilot:
        for at_seconds, batch in _batches(messages):
            # Wait until the app has handled and painted these messages.
            handled = asyncio.Event()
            pilot.app.post_message(UpdatesArrived(batch))
            pilot.app.call_later(handled.set)
            await handled.wait()
            await pilot.pause()
            writer.frame((at_seconds - first) / speed, screen_rows(app))
            progress(at_seconds)
    writer.end((messages[-1][0] - first) / speed + LAST_PICTURE_SECONDS if messages else LAST_PICTURE_SECONDS)


def _batches(messages: Sequence[Timed]) -> list[tuple[float, list[ViewMessage]]]:
    """Messages grouped by their time, one frame each, without the end of the session."""
    batches: list[tuple[float, list[ViewMessage]]] = []
    for at_seconds, group in groupby(messages, key=lambda each: each[0]):
        batches.append((at_seconds, [m for _, m in group if not isinstance(m, SessionEnded)]))
    return batches
