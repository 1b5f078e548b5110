"""Key queue: delivers one key at a time, after the action of the previous one has finished.

Textual selects the receiver of a key at once: the widget that has the focus at that time. Keys that arrive in
one burst (a macro, fast typing over a slow connection) would all go to the receiver of the first: the dialog
that it opens is not mounted yet. Here a key waits until the messages of the previous one are handled and a
screen that it opened is mounted; keys that arrive one by one never wait.

There is no timeout, because this can take any time on a busy machine or while the program is stopped, and a
key delivered too early is lost. Only the keys that end the program overtake the others if a part of the
screen hangs.
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
"""Maximum time that a key that ends the program waits for earlier keys."""

CHECK_SECONDS = 1.0


class KeyQueue:
    """Keys of one app. `dispatch` handles a key; it runs as a callback of the app."""

    def __init__(self, app: App[Any], dispatch: Callable[[TypedInput], Awaitable[None]]) -> None:
        self._app = app
        self._dispatch = dispatch
        self._waiting: deque[TypedInput] = deque()
        self._typed = asyncio.Event()

    def put(self, typed: TypedInput) -> None:
        """Queue a key, in typing order."""
        self._waiting.append(typed)
        self._typed.set()

    async def run(self) -> None:
        """Deliver keys until cancelled."""
        while True:
            await self._typed.wait()
            self._typed.clear()
            while self._waiting:
                self._hand_out(self._waiting.popleft())
                await self._settle()

    def _hand_out(self, typed: TypedInput) -> None:
        self._app.call_later(self._dispatch, typed)

    async def _settle(self) -> None:
        """Return when the delivered key has been handled."""
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
        """Wait until no widget has messages of the key left.

        A key bubbles from the focus up to the app, and so do the messages that it causes. Those are handled
        after the first round; the last round is one that changes neither screen nor focus.
        """
        await _wait_until_idle(self._app)
        await self._round()
        while await self._round():
            pass

    async def _round(self) -> bool:
        """Wait for all current receivers, from the focus upwards; True if the receivers have changed."""
        hearers = _receivers(self._app)
        for hearer in hearers:
            await _wait_until_idle(hearer)
        return _receivers(self._app) != hearers


def _receivers(app: App[Any]) -> list[DOMNode]:
    """Current receivers of a key; none in an exiting app, which has no screen."""
    return (app.focused or app.screen).ancestors_with_self if app.screen_stack else []


async def _wait_until_idle(pump: MessagePump) -> None:
    """Return when the pump is mounted and has handled its pending messages; at once if it is closed."""
    handled = asyncio.Event()
    if not pump.call_later(handled.set):
        return
    while not handled.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CHECK_SECONDS):
                await handled.wait()
        if not pump.is_running:
            return
