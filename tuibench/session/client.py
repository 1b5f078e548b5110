"""A viewer's end of the line to a session: what it says as it happens, and commands with their answers."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from tuibench.errors import RunError
from tuibench.model.activity import Activity
from tuibench.model.command import Command
from tuibench.model.cost import Costs
from tuibench.model.event import Event
from tuibench.model.message import PROTOCOL_VERSION, Answer, Downward, Ended, Hello, Status, Submit
from tuibench.model.sample import Sample

LONGEST_LINE_BYTES = 1 << 26
"""A Hello carries the history of a long run."""

News = Sample | Event | Status | Activity | Costs | Ended


class SessionClient:
    """Connected to one session. `hello` is what the session said first."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, hello: Hello) -> None:
        self.hello = hello
        self._reader = reader
        self._writer = writer
        self._news: asyncio.Queue[News | None] = asyncio.Queue()
        self._answers: dict[int, asyncio.Future[Answer]] = {}
        self._last_id = 0
        self._reading = asyncio.create_task(self._read(), name="session client")

    @classmethod
    async def connect(cls, path: Path) -> "SessionClient":
        """Joins the session behind a socket. Raises RunError when nobody answers, or in another protocol."""
        try:
            reader, writer = await asyncio.open_unix_connection(path, limit=LONGEST_LINE_BYTES)
            first = await reader.readline()
        except OSError as error:
            raise RunError(f"no session answers at {path}: {error.strerror}", "it may have ended") from error
        if not first:
            writer.close()
            raise RunError(f"the session at {path} hung up", "it may have ended")
        hello = _decoded(first)
        if not isinstance(hello, Hello) or hello.protocol != PROTOCOL_VERSION:
            writer.close()
            raise RunError(
                f"the session at {path} speaks another protocol", "use the tuibench it was started with"
            )
        return cls(reader, writer, hello)

    async def messages(self) -> AsyncIterator[News]:
        """What the session says, until it hangs up; `Ended` is the last of an orderly end."""
        while (news := await self._news.get()) is not None:
            yield news

    async def submit(self, command: Command) -> Answer:
        """Sends a command and waits for what the session did with it.

        Raises RunError if the session is gone before it answers.
        """
        self._last_id += 1
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answers[self._last_id] = answer
        if self._reading.done():
            self._abandon_answers()
        else:
            self._writer.write(msgspec.json.encode(Submit(id=self._last_id, command=command)) + b"\n")
        return await answer

    async def close(self) -> None:
        """Leaves; the session goes on."""
        self._reading.cancel()
        self._writer.close()

    async def _read(self) -> None:
        try:
            while line := await self._reader.readline():
                match _decoded(line):
                    case Answer() as answer:
                        if (waiting := self._answers.pop(answer.id, None)) and not waiting.done():
                            waiting.set_result(answer)
                    case Hello() | None:
                        continue
                    case news:
                        self._news.put_nowait(news)
        except (ConnectionError, ValueError):
            return
        finally:
            self._abandon_answers()
            self._news.put_nowait(None)

    def _abandon_answers(self) -> None:
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(RunError("the session ended before it answered"))
        self._answers.clear()


def _decoded(line: bytes) -> Downward | None:
    """A message of the session; None for a line that is none."""
    try:
        message: Downward = msgspec.json.decode(line, type=Downward)
    except msgspec.MsgspecError:
        return None
    return message
