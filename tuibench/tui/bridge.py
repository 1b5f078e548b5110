"""Between the session's line and the app: one reader turns messages into posts, one door submits commands."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

from textual.message import Message as TextualMessage

from tuibench.model.command import Command
from tuibench.model.message import Answer, Hello
from tuibench.tui import view


class Client(Protocol):
    """The viewer's end of a session: the real one speaks over a socket, the tests' one is scripted."""

    @property
    def hello(self) -> Hello: ...

    def messages(self) -> AsyncIterator[view.Message]: ...

    async def submit(self, command: Command) -> Answer: ...

    async def close(self) -> None: ...


Connect = Callable[[], Awaitable[Client]]


class Player(Protocol):
    """What can be done with a replay, and not with a session (the real one, and the one of the tests)."""

    def toggle(self) -> None: ...

    def seek(self, seconds: float) -> None: ...

    def faster(self) -> None: ...

    def slower(self) -> None: ...


class Arrived(TextualMessage):
    """The session said something."""

    def __init__(self, content: view.Message) -> None:
        super().__init__()
        self.content = content


class LineClosed(TextualMessage):
    """The session's line has ended: nothing more will arrive."""


async def read(client: Client, post: Callable[[TextualMessage], object]) -> None:
    """Post everything the session says, then that it has ended."""
    try:
        async for content in client.messages():
            post(Arrived(content))
    finally:
        post(LineClosed())
