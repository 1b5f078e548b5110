"""Bridge from the session's client to the app: all messages within a frame become one.

A key press is answered by a status, an event and a reply, which the session sends one after the other. The
inbox collects them for one frame, so that the app makes one view of them and paints once.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Protocol

from textual.message import Message as TextualMessage

from tuibench.model.command import Command
from tuibench.model.message import CommandReply, Hello
from tuibench.tui import view

FRAME_SECONDS = 1 / 60
"""The screen is painted no more often than this."""


class ViewerClient(Protocol):
    """The viewer's end of a session: the real one uses a socket, the tests' one is scripted."""

    @property
    def hello(self) -> Hello: ...

    def messages(self) -> AsyncIterator[view.SessionMessage]: ...

    async def submit(self, command: Command) -> CommandReply: ...

    async def close(self) -> None: ...


Connect = Callable[[], Awaitable[ViewerClient]]


class ReplayPlayer(Protocol):
    """What can be done with a replay and not with a session (the real one, and the one of the tests)."""

    def toggle(self) -> None: ...

    def seek(self, seconds: float) -> None: ...

    def faster(self) -> None: ...

    def slower(self) -> None: ...


class SessionUpdate(TextualMessage):
    """Everything that arrived from the session within one frame, in its order."""

    def __init__(self, contents: Sequence[view.SessionMessage]) -> None:
        super().__init__()
        self.contents = tuple(contents)


class ConnectionClosed(TextualMessage):
    """The connection to the session has ended: nothing more will arrive."""


class UpdateInbox:
    """Collects what arrives and posts it once a frame."""

    def __init__(self, post: Callable[[TextualMessage], object]) -> None:
        self._post = post
        self._arrived: list[view.SessionMessage] = []

    def put(self, content: view.SessionMessage) -> None:
        """The first message of a frame starts its timer."""
        self._arrived.append(content)
        if len(self._arrived) == 1:
            asyncio.get_running_loop().call_later(FRAME_SECONDS, self.flush)

    def flush(self) -> None:
        """Post what has arrived, if anything."""
        arrived, self._arrived = self._arrived, []
        if arrived:
            self._post(SessionUpdate(arrived))

    async def read(self, client: ViewerClient) -> None:
        """Take everything from a client until its connection ends."""
        try:
            async for content in client.messages():
                self.put(content)
        finally:
            self.flush()
            self._post(ConnectionClosed())
