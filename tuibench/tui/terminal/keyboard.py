"""Key queue: delivers one key at a time, when the action of the previous one has finished.

Textual decides at once who gets a key: the widget that has the focus now. Keys that come in one burst (a
macro, fast typing over a slow line) would all go where the first of them went: the dialog that it opens is
not there yet. Here a key waits until the messages of the one before are handled and a screen that it opened
is mounted; keys that come one by one never wait.

That may take any time on a busy machine, or when the program is stopped meanwhile, so no clock decides: a key
that is handed out too early is lost. Only the keys that end the program overtake the others when a part of
the screen hangs.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from textual.app import App
from textual.dom import DOMNode
from textual.events import Key, Paste
from textual.message_pump import MessagePump

TypedInput = Key | Paste

ENDING_KEYS = frozenset(("ctrl+c", "ctrl+q"))
HANG_SECONDS = 5.0
"""A key that ends the program waits no longer than this for the keys before it."""

CHECK_SECONDS = 1.0


class KeyQueue:
    """The keys of one app. `dispatch` is what the app does with a key; it runs as any of its callbacks."""

    def __init__(self, app: App[Any], dispatch: Callable[[TypedInput], Awaitable[None]]) -> None:
        self._app = app
        self._dispatch = dispatch
        self._waiting: deque[TypedInput] = deque()
        self._typed = asyncio.Event()

    def put(self, typed: TypedInput) -> None:
        """Any number, in the order in which they were typed."""
        self._waiting.append(typed)
        self._typed.set()

    async def run(self) -> None:
        """Hands out until it is cancelled."""
        while True:
            await self._typed.wait()
            self._typed.clear()
            while self._waiting:
                self._hand_out(self._waiting.popleft())
                await self._settle()

    def _hand_out(self, typed: TypedInput) -> None:
        self._app.call_later(self._dispatch, typed)

    async def _settle(self) -> None:
        """Returns when the key that was handed out has done its work."""
        settling = asyncio.ensure_future(self._at_rest())
        try:
            while not (await asyncio.wait({settling}, timeout=HANG_SECONDS))[0]:
                self._let_ending_keys_through()
        finally:
            settling.cancel()

    def _let_ending_keys_through(self) -> None:
        ending = [typed for typed in self._waiting if isinstance(typed, Key) and typed.key in ENDING_KEYS]
        for typed in ending:
            self._waiting.remove(typed)
            self._hand_out(typed)

    async def _at_rest(self) -> None:
        """A key goes up from the focus to the app, and so do the messages that it makes on its way.

        Those are behind the first round; a round that moves neither screen nor focus is the last one.
        """
        await _wait_until_idle(self._app)
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
    if not pump.call_later(handled.set):
        return
    while not handled.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CHECK_SECONDS):
                await handled.wait()
        if not pump.is_running:
            return
