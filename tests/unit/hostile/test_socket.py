"""A session's socket: any line is answered or passed over; a thousand connections leave room for a viewer."""

import asyncio
import contextlib
import json
import resource
from collections.abc import AsyncIterator, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import sample
from tests.unit.hostile.mutations import broken, with_odd_values
from tests.unit.load.driving import until
from tests.unit.session.conftest import serve  # noqa: F401
from tests.unit.session.serving import Serve, Served, next_of
from tuibench.model.message import Mark
from tuibench.session.client import SessionClient
from tuibench.session.service import MAX_CONNECTIONS, ConnectionLimit, Viewer

FLOOD = 1_000
COMMANDS = (
    {"type": "submit", "id": 1, "command": {"type": "threads", "threads": 8}},
    {"type": "submit", "id": 2, "command": {"type": "set", "name": "sync_binlog", "value": "0"}},
    {"type": "submit", "id": 3, "command": {"type": "mark", "text": "x"}},
    {"type": "join", "samples": 10, "read_only": False},
)
good = st.sampled_from([json.dumps(command).encode() for command in COMMANDS])
lines = st.lists(good.flatmap(lambda line: broken(line) | with_odd_values(line)) | st.binary(), max_size=5)


@pytest.fixture(autouse=True)
def descriptors() -> Iterator[None]:
    """As many as the flood takes, where the account may have them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * FLOOD
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"this account may open {hard} files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_no_line_harms_the_session(serve: Serve) -> None:  # noqa: F811
    async with serve() as served:

        @given(st.data())
        def check(data: st.DataObject) -> None:
            examples.append(data.draw(lines))

        examples: list[list[bytes]] = []
        check()
        for said in examples:
            await say(served, said)
        client = await served.join()
        assert (await client.submit(Mark(text="well"))).ok
        await client.close()
        assert not served.serving.done()


async def say(served: Served, said: list[bytes]) -> None:
    """Says these lines on one connection, and hears all answers; each of them is JSON on one line."""
    reader, writer = await asyncio.open_unix_connection(served.socket)
    writer.write(b"\n".join(said) + b"\n")
    writer.write_eof()
    with contextlib.suppress(ConnectionError):
        for line in (await reader.read()).splitlines():
            assert "a bug in tuibench" not in json.loads(line).get("text", "")
    writer.close()


@contextlib.asynccontextmanager
async def flood(served: Served, greeting: bytes = b"") -> AsyncIterator[None]:
    """A thousand connections that stay; each says its greeting."""
    held = []
    for _ in range(FLOOD):
        _, writer = await asyncio.open_unix_connection(served.socket)
        writer.write(greeting)
        held.append(writer)
    try:
        yield
    finally:
        for writer in held:
            writer.close()


JOINING = b'{"type":"join","samples":0}\n'


@pytest.mark.parametrize("greeting", [b"", b"{", JOINING], ids=["silent", "half a line", "joining"])
async def test_a_viewer_goes_on_seeing_among_a_thousand_connections(
    serve: Serve,  # noqa: F811
    greeting: bytes,
) -> None:
    async with serve() as served:
        viewer = await served.join()
        async with flood(served, greeting):
            served.session.say(sample(1))
            assert await next_of(viewer, 1) == [sample(1)]
            assert (await viewer.submit(Mark())).ok
        await viewer.close()


@pytest.mark.parametrize("greeting", [b"", b"{"], ids=["silent", "half a line"])
async def test_a_newcomer_takes_the_place_of_an_idle_connection(
    serve: Serve,  # noqa: F811
    greeting: bytes,
) -> None:
    async with serve() as served, flood(served, greeting):
        newcomer = await SessionClient.join(served.socket)
        served.session.say(sample(1))
        assert await next_of(newcomer, 1) == [sample(1)]
        await newcomer.close()
        await until(lambda: served_connections() <= MAX_CONNECTIONS)


def served_connections() -> int:
    """Each has a task that sends."""
    return sum(task.get_name() == "viewer's line" for task in asyncio.all_tasks())


class Line(Viewer):
    """A connection without a socket."""

    def __init__(self, *, is_idle: bool = True) -> None:
        self._is_idle = is_idle
        self.is_dropped = False

    @property
    def is_idle(self) -> bool:
        return self._is_idle

    def drop(self) -> None:
        self.is_dropped = True


def test_the_oldest_idle_caller_gives_way_and_no_viewer() -> None:
    viewer, busy, idle, younger = Line(), Line(is_idle=False), Line(), Line()
    limit = ConnectionLimit({viewer}.__contains__, most=4)
    assert all(limit.admit(line) for line in (viewer, busy, idle, younger))
    assert limit.admit(Line(is_idle=False))
    assert limit.admit(Line(is_idle=False))
    assert [line.is_dropped for line in (viewer, busy, idle, younger)] == [False, False, True, True]
    assert not limit.admit(Line())
    limit.forget(viewer)
    assert limit.admit(Line())
