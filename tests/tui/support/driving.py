"""A viewer on a scripted session, driven by keys."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from textual.events import Key
from textual.keys import key_to_character
from textual.pilot import Pilot

from tests.tui.support.fake import FakeClient
from tuibench.model.message import Hello, SessionEnded
from tuibench.tui.app import TuibenchApp
from tuibench.tui.styled_app import DEFAULT_DISPLAY, DisplayOptions
from tuibench.tui.view import ViewMessage
from tuibench.tui.widgets import Panel

LARGE, SMALL = (120, 36), (80, 24)
DEADLINE_SECONDS = 30.0


class Viewer(NamedTuple):
    """The app, its keys, and the session it believes to talk to."""

    app: TuibenchApp
    pilot: Pilot[SessionEnded]
    client: FakeClient

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settle()

    async def burst(self, *keys: str) -> None:
        """All at once, as a macro types them: none waits for what the one before it does."""
        for key in keys:
            self.app.post_message(Key(key, key_to_character(key)))
        await self.settle()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until it holds."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not condition():
                await self.settle()

    async def hear(self, *messages: ViewMessage) -> None:
        """The session says this; afterwards the screen has painted it."""
        self.client.say(*messages)
        await self.settle()

    async def settle(self) -> None:
        """Wait until nothing is left to be handled: messages, answers, paint."""
        for _ in range(2):
            await self.pilot.pause()

    def shown(self, panel: str) -> str:
        return self.app.screen_stack[1].query_one(f"#{panel}", Panel).text()


@asynccontextmanager
async def viewer(
    hello: Hello,
    size: tuple[int, int] = LARGE,
    *,
    display: DisplayOptions = DEFAULT_DISPLAY,
    owner: bool = True,
    read_only: bool = False,
) -> AsyncIterator[Viewer]:
    """A running viewer; it is closed at the end unless the test has made it leave."""
    client = FakeClient(hello)
    app = TuibenchApp(client.connected, display, owner=owner, read_only=read_only)
    async with app.run_test(size=size) as pilot:
        found = Viewer(app, pilot, client)
        await found.settle()
        yield found


def screen_text(it: Viewer) -> str:
    """All that is on the screen, a dialog too."""
    return "\n".join(
        "".join(segment.text for segment in strip) for strip in it.app.screen._compositor.render_strips()
    )
