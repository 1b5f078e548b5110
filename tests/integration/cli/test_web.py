"""`tuibench web` on a running session: the page's line shows its screen, and steers nothing."""

import asyncio
import json
import re
import signal
from collections.abc import Iterator

import pytest

pytest.importorskip("textual_serve")

import aiohttp

from tests.integration.support.commands import DEADLINE_SECONDS, Running, finished, started, tuibench
from tuibench.servers.server import PrivateServer

RUN = (
    "oltp_read_write", "--tables=2", "--table-size=500", "--threads=2", "--interval=1", "--time=0",
    "--client-delay=2ms",
)  # fmt: skip


@pytest.fixture
def session(any_tables: PrivateServer) -> Iterator[str]:
    """A session in the background."""
    begun = tuibench("run", *RUN, "--detach", target=any_tables.target)
    assert begun.code == 0, begun.err
    yield begun.out.strip()
    assert tuibench("ctl", "stop", "--wait").code == 0


def address_told(process: Running) -> str:
    found = re.search(r"at (http://127\.0\.0\.1:\d+), (read-only|read-write)", process.stderr.readline())
    assert found
    return found[1]


async def typed(url: str, keys: str, wanted: str) -> str:
    """What the screen shows after these keys, until it has shown the words."""
    shown = ""
    async with (
        aiohttp.ClientSession() as http,
        http.ws_connect(f"{url}/ws?width=120&height=36", headers={"Origin": url}) as line,
        asyncio.timeout(DEADLINE_SECONDS),
    ):
        has_typed = False
        while wanted not in shown:
            message = await line.receive()
            assert message.type is aiohttp.WSMsgType.BINARY or message.type is aiohttp.WSMsgType.TEXT
            if isinstance(message.data, bytes):
                shown += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", message.data.decode(errors="replace"))
            if not has_typed and "running" in shown:
                await line.send_str(json.dumps(["stdin", keys]))
                has_typed = True
    return shown


def threads_of(session: str) -> int:
    (listed,) = json.loads(tuibench("sessions", "--format=json").out)
    assert listed["session"] == session
    return int(listed["threads"])


def test_a_page_shows_the_screen_and_steers_only_if_it_may(session: str) -> None:
    with started("web", session, "--port=0") as process:
        shown = asyncio.run(typed(address_told(process), "+", "is read-only"))
        assert "MariaDB" in shown or "MySQL" in shown
        process.send_signal(signal.SIGINT)
        finished(process)
    assert threads_of(session) == 2
    with started("web", session, "--port=0", "--read-write") as process:
        asyncio.run(typed(address_told(process), "+", "threads 2 → 3"))
        process.send_signal(signal.SIGINT)
        finished(process)
    assert threads_of(session) == 3
