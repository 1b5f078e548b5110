"""Deadlines on a server behind a proxy that knows which answers are late: the counts are those of its record.

An answer is late by more than the deadline, or comes at once: a busy machine turns none into the other.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from tests.integration.load.conformance.driving import AnyEngine, Drive, driving, program
from tests.unit.load.driving import ended
from tuibench.model.callers import Backoff, CallerPolicy, QueueOrder
from tuibench.model.plan import Arrival
from tuibench.model.server import Target

LOOKING = program("""
[[transactions]]
name = "look"
autocommit = true
[[transactions.steps]]
let.id = { make = "uniform", high = 100 }
statements = [{ name = "look", sql = "SELECT n FROM t WHERE id = ?", bind = ["id"] }]
""")
REQUEST = b"SELECT n FROM t"
CHUNK = 65536
RATE, WORK = 40.0, 160
DEADLINE_MS, HELD_SECONDS = 3_000.0, 5.0


class HoldingProxy:
    """A proxy on a Unix socket that passes some requests on only when their callers have given up.

    `asked` counts the requests of the load, `held` those that were held, `answered` their answers.
    """

    def __init__(self, target: Target, every: int, most: int | None = None) -> None:
        self.asked = self.held = self.answered = 0
        self._target = target
        self._every = every
        self._most = most
        self._serving: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def listening(self, socket: Path) -> AsyncIterator[Target]:
        """The server, reached through the proxy."""
        server = await asyncio.start_unix_server(self._accept, socket)
        try:
            yield msgspec.structs.replace(self._target, socket=str(socket))
        finally:
            server.close()
            for task in self._serving:
                task.cancel()
            await asyncio.gather(*self._serving, return_exceptions=True)
            socket.unlink(missing_ok=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_unix_connection(self._target.socket)
        serving = asyncio.current_task()
        assert serving is not None
        self._serving.add(serving)
        is_asking = False

        async def answer() -> None:
            nonlocal is_asking
            while data := await there.read(CHUNK):
                self.answered += is_asking
                is_asking = False
                writer.write(data)
            writer.close()

        answering = asyncio.create_task(answer())
        try:
            while data := await reader.read(CHUNK):
                if REQUEST in data:
                    is_asking = True
                    await self._hold()
                back.write(data)
        finally:
            answering.cancel()
            writer.close()
            back.close()
            self._serving.discard(serving)

    async def _hold(self) -> None:
        self.asked += 1
        if self.asked % self._every == 0 and (self._most is None or self.held < self._most):
            self.held += 1
            await asyncio.sleep(HELD_SECONDS)


async def _begins(drive: Drive, connections: int, policy: CallerPolicy) -> None:
    """The schedule begins when all connections are open."""
    drive.engine.pause()
    drive.engine.set_callers(policy)
    drive.engine.set_rate(RATE)
    await drive.until_connected(connections)
    drive.engine.resume()


@pytest.mark.one_flavour
@pytest.mark.parametrize("way", ["asyncio", "native"], indirect=True)
@pytest.mark.parametrize("attempts", [1, pytest.param(3, marks=pytest.mark.whole)])
async def test_good_and_late_are_those_that_a_proxy_passed_on_in_time(
    kind: AnyEngine, rows: Target, tmp_path: Path, attempts: int
) -> None:
    """There are more connections than requests that are held, so none waits for another."""
    policy = CallerPolicy(deadline_ms=DEADLINE_MS, attempts=attempts, backoff=Backoff(20, 2))
    proxy = HoldingProxy(rows, every=20)
    async with (
        proxy.listening(tmp_path / "proxy.sock") as through,
        driving(kind, through, LOOKING, 24, limit=WORK, arrival=Arrival.CONSTANT, prepared=False) as drive,
    ):
        await _begins(drive, 24, policy)
        counters = await drive.until(lambda counters: ended(counters) == WORK)
    assert (counters.late, counters.good) == (proxy.held, proxy.asked - proxy.held)
    assert (counters.completed, counters.failed, counters.abandoned) == (proxy.answered, 0, 0)
    assert counters.scheduled == proxy.asked == WORK
    assert proxy.held == WORK // 20
    assert (counters.resent > 0) is (attempts > 1)


@pytest.mark.one_flavour
@pytest.mark.parametrize("way", ["asyncio", "native"], indirect=True)
async def test_what_is_shed_is_what_a_proxy_was_never_asked(
    kind: AnyEngine, rows: Target, tmp_path: Path
) -> None:
    """All connections are held at the same time, for longer than the deadline."""
    policy = CallerPolicy(deadline_ms=DEADLINE_MS, queue=QueueOrder.SHED)
    proxy = HoldingProxy(rows, every=1, most=2)
    async with (
        proxy.listening(tmp_path / "proxy.sock") as through,
        driving(kind, through, LOOKING, 2, limit=6 * WORK, arrival=Arrival.CONSTANT, prepared=False) as drive,
    ):
        await _begins(drive, 2, policy)
        counters = await drive.until(lambda counters: counters.completed >= 2 + WORK // 2)
        drive.engine.set_rate(1)
        counters = await drive.ends()
    assert (counters.completed, counters.failed) == (proxy.asked, 0)
    assert proxy.answered == proxy.asked
    assert (counters.late, counters.good) == (2, proxy.asked - 2)
    assert counters.abandoned == counters.scheduled - proxy.asked
    assert counters.abandoned > RATE
