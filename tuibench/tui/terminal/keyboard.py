"""What is typed, handed out one key at a time: the next one when whatever the last one began is at rest.

Textual decides at once who gets a key: the widget that has the focus now. Keys that come in one burst (a
macro, fast typing over a slow line) would all go where the first of them went: the dialog that it opens is
not there yet. Here a key waits until the messages of the one before are handled and a screen that it opened
is mounted; keys that come one by one never wait.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from textual.app import App
from textual.dom import DOMNode
from textual.events import Key, Paste
from textual.message_pump import MessagePump

TypedInput = Key | Paste

SETTLE_TIMEOUT_SECONDS = 5.0
"""A part that hangs does not take the keyboard with it for longer: a key that leaves comes through."""


class KeyQueue:
    """The keys of one app. `dispatch` is what the app does with a key; it runs as any of its callbacks."""

    def __init__(self, app: App[Any], dispatch: Callable[[TypedInput], Awaitable[None]]) -> None:
        self._app = app
        self._dispatch = dispatch
        self._waiting: asyncio.Queue[TypedInput] = asyncio.Queue()

    def put(self, typed: TypedInput) -> None:
        """Any number, in the order in which they were typed."""
        self._waiting.put_nowait(typed)

    async def run(self) -> None:
        """Hands out until it is cancelled."""
        while True:
            typed = await self._waiting.get()
            self._app.call_later(self._dispatch, typed)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SETTLE_TIMEOUT_SECONDS):
                    await _wait_until_idle(self._app)
                    await self._at_rest()

    async def _at_rest(self) -> None:
        """A key goes up from the focus to the app, and so do the messages that it makes on its way.

        Those are behind the first round; a round that moves neither screen nor focus is the last one.
        """
        await self._round()
        while await self._round():
            pass

    async def _round(self) -> bool:
        """Wait for all who can hear a key now, from the focus upwards; whether others can afterwards."""
        hearers = _receivers(self._app)
        for hearer in hearers:
            await _wait_until_idle(hearer)
        return _receivers(self._app) != hearers


def _receivers(app: App[Any]) -> list[DOMNode]:
    """An app that ends has no screen any more, and nobody who hears."""
    return (app.focused or app.screen).ancestors_with_self if app.screen_stack else []


async def _wait_until_idle(pump: MessagePump) -> None:
    """Returns when it is mounted and has handled all that it was sent until now; at once if it is closed."""
    handled = asyncio.Event()
    if pump.call_later(handled.set):
        await handled.wait()
