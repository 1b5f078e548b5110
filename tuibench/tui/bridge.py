"""Bridge from the session's client to the app: batches all messages of one frame.

A key press results in a status, an event and a reply, which the session sends one after the other. The inbox
collects them for one frame, so that the app makes one view of them and paints once.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Protocol

from textual.message import Message as TextualMessage

from tuibench.model.command import Command
from tuibench.model.message import CommandReply, Hello
from tuibench.tui import view

FRAME_SECONDS = 1 / 60
"""Minimum interval between two paints."""


class ViewerClient(Protocol):
    """Client of a session, as the viewer uses it: over a socket, or scripted in tests."""

    @property
    def hello(self) -> Hello: ...

    def messages(self) -> AsyncIterator[view.ViewMessage]: ...

    async def submit(self, command: Command) -> CommandReply: ...

    async def close(self) -> None: ...


Connect = Callable[[], Awaitable[ViewerClient]]


class ReplayPlayer(Protocol):
    """Operations of a replay that a session lacks. Implemented by the real player and the tests' one."""

    def toggle(self) -> None: ...

    def seek(self, seconds: float) -> None: ...

    def faster(self) -> None: ...

    def slower(self) -> None: ...


class UpdatesArrived(TextualMessage):
    """All messages of one frame, in order of arrival."""

    def __init__(self, contents: Sequence[view.ViewMessage]) -> None:
        super().__init__()
        self.contents = tuple(contents)


class ConnectionClosed(TextualMessage):
    """The connection to the session has ended: no more messages follow."""


class UpdateInbox:
    """Collects messages and posts them once per frame."""

    def __init__(self, post: Callable[[TextualMessage], object]) -> None:
        self._post = post
        self._arrived: list[view.ViewMessage] = []

    def put(self, content: view.ViewMessage) -> None:
        """Add a message; the first one of a frame starts its timer."""
        self._arrived.append(content)
        if len(self._arrived) == 1:
            asyncio.get_running_loop().call_later(FRAME_SECONDS, self.flush)

    def flush(self) -> None:
        """Post the collected messages, if any."""
        arrived, self._arrived = self._arrived, []
        if arrived:
            self._post(UpdatesArrived(arrived))

    async def read(self, client: ViewerClient) -> None:
        """Collect the client's messages until its connection ends."""
        try:
            async for content in client.messages():
                self.put(content)
        finally:
            self.flush()
            self._post(ConnectionClosed())
