"""A recorded run as an asciinema cast (version 2): the screens as a terminal would show them.

The app runs headless and hears the run's messages sample by sample; after each sample the rows of the screen
that changed are written, with the time of that sample divided by the speed.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import groupby
from typing import IO, Any

from textual.pilot import Pilot

from tuibench.model.command import Command
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import REPLAY_REFUSAL, CommandReply, Hello, SessionEnded
from tuibench.tui.app import TuibenchApp
from tuibench.tui.terminal.styled_app import DisplayOptions
from tuibench.tui.terminal.textual_internals import screen_rows
from tuibench.tui.view import SessionMessage

VERSION = 2
CLEAR = "\x1b[2J\x1b[?25l"
LAST_PICTURE_SECONDS = 3.0
PAINT_SECONDS = 0.04
"""Longer than the frame in which the app collects messages."""

Timed = tuple[float, SessionMessage]
Progress = Callable[[float], None]
"""Hears how many seconds of the run are written."""


class QuietClient:
    """A session's client that says what it is given."""

    def __init__(self, hello: Hello) -> None:
        self.hello = hello
        self._queue: asyncio.Queue[SessionMessage] = asyncio.Queue()

    async def connected(self) -> "QuietClient":
        return self

    def say(self, messages: Sequence[SessionMessage]) -> None:
        for message in messages:
            self._queue.put_nowait(message)

    async def messages(self) -> AsyncIterator[SessionMessage]:
        while True:
            yield await self._queue.get()

    async def submit(self, command: Command) -> CommandReply:
        """No."""
        return CommandReply(id=0, ok=False, text=REPLAY_REFUSAL)

    async def close(self) -> None:
        """Nothing is open."""


class CastWriter:
    """Writes the header, and of each frame the rows that differ from the one before it."""

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
        """The screen at this time of the cast."""
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
        """The last picture stays until here."""
        self._line([round(seconds, 3), "o", ""])

    def _line(self, content: object) -> None:
        self._file.write(json.dumps(content, ensure_ascii=False) + "\n")


async def write_cast(
    file: IO[str],
    hello: Hello,
    messages: Sequence[Timed],
    look: DisplayOptions,
    size: tuple[int, int],
    speed: float,
    progress: Progress = lambda _: None,
) -> None:
    """The whole run; it begins with its first message."""
    client = QuietClient(hello)
    app = TuibenchApp(client.connected, look)
    first = messages[0][0] if messages else 0.0
    started = hello.samples[0].at if hello.samples else _first_wall_clock(messages)
    writer = CastWriter(file, size, started, f"tuibench {hello.plan.profile}")
    async with app.run_test(size=size) as pilot:
        for at_seconds, batch in _batches(messages):
            client.say(batch)
            await _painted(pilot)
            writer.frame((at_seconds - first) / speed, screen_rows(app))
            progress(at_seconds)
    writer.end((messages[-1][0] - first) / speed + LAST_PICTURE_SECONDS if messages else LAST_PICTURE_SECONDS)


def _batches(messages: Sequence[Timed]) -> list[tuple[float, list[SessionMessage]]]:
    """What is said up to each sample, as one frame; an end of the session closes no screen here."""
    batches: list[tuple[float, list[SessionMessage]]] = []
    for at_seconds, group in groupby(messages, key=lambda each: each[0]):
        batches.append((at_seconds, [m for _, m in group if not isinstance(m, SessionEnded)]))
    return batches


def _first_wall_clock(messages: Sequence[Timed]) -> float:
    return next((message.at for _, message in messages if isinstance(message, Sample)), 0.0)


async def _painted(pilot: Pilot[Any]) -> None:
    """Until what was said is on the screen."""
    await asyncio.sleep(PAINT_SECONDS)
    await pilot.pause()
