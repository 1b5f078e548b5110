"""The relay between source and replica: late in one direction only, and nothing after a cut."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from tuibench.features.failover.relay import LateRelay


class Ends(NamedTuple):
    """Both ends of a relayed connection."""

    relay: LateRelay
    from_replica: asyncio.StreamReader
    to_replica: asyncio.StreamWriter
    from_source: asyncio.StreamReader
    to_source: asyncio.StreamWriter


@asynccontextmanager
async def relayed() -> AsyncIterator[Ends]:
    accepted: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.put_nowait((reader, writer))

    source = await asyncio.start_server(accept, "127.0.0.1", 0)
    relay = LateRelay(source.sockets[0].getsockname()[1])
    async with relay.listening():
        from_source, to_source = await asyncio.open_connection("127.0.0.1", relay.port)
        from_replica, to_replica = await accepted.get()
        yield Ends(relay, from_replica, to_replica, from_source, to_source)
        to_source.close()
        to_replica.close()
    source.close()


async def test_what_the_source_sends_is_late_in_its_order() -> None:
    now = asyncio.get_running_loop().time
    async with relayed() as ends:
        ends.to_replica.write(b"at once ")
        assert await ends.from_source.readexactly(8) == b"at once "
        ends.relay.seconds = 0.1
        sent = now()
        ends.to_replica.write(b"one ")
        await ends.to_replica.drain()
        ends.to_replica.write(b"two")
        assert await ends.from_source.readexactly(7) == b"one two"
        assert now() - sent >= 0.1


async def test_acknowledgements_are_not_late() -> None:
    """They would come after an hour."""
    async with relayed() as ends:
        ends.relay.seconds = 3600.0
        ends.to_source.write(b"received")
        assert await ends.from_replica.readexactly(8) == b"received"


async def test_nothing_is_delivered_after_a_cut() -> None:
    async with relayed() as ends:
        ends.relay.seconds = 0.05
        ends.to_replica.write(b"under way")
        await ends.to_replica.drain()
        ends.relay.cut()
        assert await ends.from_source.read() == b""


async def test_the_end_of_the_source_arrives_after_its_data() -> None:
    async with relayed() as ends:
        ends.relay.seconds = 0.05
        ends.to_replica.write(b"the last event")
        ends.to_replica.close()
        assert await ends.from_source.read() == b"the last event"
