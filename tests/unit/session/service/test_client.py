"""The viewer's end of a session's socket: nobody there, somebody else, and sessions that vanish."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from tests.examples import EVENT, hello, sample
from tests.unit.session.serving import stranger
from tuibench.errors import RunError, SessionUnreachableError
from tuibench.model.command import Mark, Stop
from tuibench.model.message import PROTOCOL_VERSION, CommandReply
from tuibench.session.service.client import SessionClient


async def test_a_missing_session_is_reported(tuibench_home: Path) -> None:
    with pytest.raises(RunError, match=r"no session answers at .*it may have ended"):
        await SessionClient.connect(tuibench_home / "none.sock")


@pytest.mark.parametrize(
    ("greeting", "words"),
    [
        (b"", "closed the connection"),
        (b"HTTP/1.1 400 Bad Request\r\n", "is not a session of this"),
        (b'{"protocol":"\xff","\xff":1}\n', "is not a session of this"),
        (
            msgspec.json.encode(hello(protocol=PROTOCOL_VERSION + 1)) + b"\n",
            f"protocol {PROTOCOL_VERSION + 1}",
        ),
        (msgspec.json.encode(EVENT) + b"\n", "is not a session of this"),
    ],
)
async def test_a_foreign_program_behind_the_socket_is_reported(
    tuibench_home: Path, greeting: bytes, words: str
) -> None:
    async with stranger(tuibench_home / "s.sock", greeting):
        with pytest.raises(RunError, match=words):
            await SessionClient.connect(tuibench_home / "s.sock")


async def test_a_command_whose_session_vanishes_is_an_error(tuibench_home: Path) -> None:
    path = tuibench_home / "s.sock"
    async with stranger(path, msgspec.json.encode(hello()) + b"\n") as hang_up:
        client = await SessionClient.connect(path)
        waiting = [asyncio.create_task(client.submit(Mark())) for _ in range(2)]
        await asyncio.sleep(0)
        hang_up.set()
        for task in waiting:
            with pytest.raises(RunError, match="ended before it answered"):
                await task
        with pytest.raises(RunError, match="ended before it answered"):
            await client.submit(Stop())
        assert [message async for message in client.messages()] == []
        await client.close()


async def test_lines_the_viewer_does_not_know_are_passed_over(tuibench_home: Path) -> None:
    path = tuibench_home / "s.sock"
    said = [hello(), {"type": "weather"}, sample(1), CommandReply(id=99, ok=True, text="nobody asked")]
    lines = b"".join(msgspec.json.encode(message) + b"\n" for message in said)
    async with stranger(path, lines) as hang_up:
        client = await SessionClient.connect(path)
        hang_up.set()
        assert [message async for message in client.messages()] == [sample(1)]
        await client.close()


async def test_a_session_that_is_stopped_is_not_waited_for(tuibench_home: Path) -> None:
    path = tuibench_home / "s.sock"
    async with stranger(path, b" "):
        with pytest.raises(SessionUnreachableError, match="does not answer"):
            await SessionClient.connect(path, timeout_seconds=0.05)


async def test_a_session_that_ends_before_it_lets_a_viewer_join_is_an_error(tuibench_home: Path) -> None:
    path = tuibench_home / "s.sock"
    async with stranger(path, msgspec.json.encode(hello()) + b"\n") as hang_up:
        joining = asyncio.create_task(SessionClient.join(path))
        await asyncio.sleep(0)
        hang_up.set()
        with pytest.raises(
            SessionUnreachableError, match=r"before the viewer could join|closed the connection"
        ):
            await joining
