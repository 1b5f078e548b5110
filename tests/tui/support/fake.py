"""A session's client that a test plays: what it says is scripted, what it is asked is recorded."""

import asyncio
from collections.abc import AsyncIterator

from tuibench.model.message import Command, CommandReply, Hello
from tuibench.tui.view import ViewMessage


class FakeClient:
    """Answers at once with `answer`, unless `hold` keeps the answers back until `release`."""

    def __init__(self, hello: Hello, answer: CommandReply | None = None) -> None:
        self.hello = hello
        self.submitted: list[Command] = []
        self.answer = answer or CommandReply(id=0, ok=True, text="done")
        self.closed = False
        self._news: asyncio.Queue[ViewMessage | None] = asyncio.Queue()
        self._open = asyncio.Event()
        self._open.set()

    def say(self, *messages: ViewMessage) -> None:
        for message in messages:
            self._news.put_nowait(message)

    def hang_up(self) -> None:
        self._news.put_nowait(None)

    def hold(self) -> None:
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    async def connected(self) -> "FakeClient":
        return self

    async def messages(self) -> AsyncIterator[ViewMessage]:
        while (message := await self._news.get()) is not None:
            yield message

    async def submit(self, command: Command) -> CommandReply:
        self.submitted.append(command)
        await self._open.wait()
        return self.answer

    async def close(self) -> None:
        self.closed = True
