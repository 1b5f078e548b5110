"""A host beside the ticks: samples, gaps with reasons, and how long a lost one is left alone."""

import asyncio

from tests.unit.observe.fakes import FakeClock
from tests.unit.observe.host.remote.captured import exporter_page
from tuibench.metrics.figures import read
from tuibench.model.server import ServerInfo
from tuibench.model.tick import HOST
from tuibench.observe.host.remote.node_exporter import parse_page
from tuibench.observe.host.remote.remote_host import FIRST_NOTE, RemoteHost
from tuibench.observe.host.remote.source import HostReading, HostSourceError, NamedSample


class Played:
    """A host of two cores. `failure` is raised; nothing is answered while `gate` is closed."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.reads = 0
        self.failure = ""
        self.gate = asyncio.Event()
        self.gate.set()

    async def read(self) -> HostReading:
        self.reads += 1
        await self.gate.wait()
        if self.failure:
            raise HostSourceError(self.failure)
        totals = parse_page(exporter_page(self.seconds))
        assert totals is not None
        return HostReading(totals, 2)

    def follow(self, server: ServerInfo) -> None:
        raise AssertionError("the server is the same")

    async def close(self) -> None:
        self.reads = -1


class Tried:
    """A remote host that is ticked by hand."""

    def __init__(self) -> None:
        self.source, self.clock = Played(), FakeClock()
        self.host = RemoteHost(self.source, "ssh:db1", self.clock, 1.0)

    async def tick(self, seconds: float = 1.0, patience: float = 60.0) -> NamedSample:
        self.clock.advance(seconds)
        self.source.seconds += seconds
        self.host.begin()
        return await self.host.finish(patience)


async def test_the_first_reading_is_what_the_second_is_compared_with() -> None:
    tried = Tried()
    assert await tried.tick() == NamedSample(None, FIRST_NOTE)
    found = await tried.tick(2.0)
    assert found.sample is not None
    host = found.sample.moved("", HOST)
    assert (host.sums[HOST + "seconds"], read("cpu_total", host), host.missing.get(HOST + "local", "")) == (
        2.0,
        50.0,
        "ssh:db1",
    )


async def test_a_lost_host_is_a_gap_with_its_reason_and_left_alone_longer_each_time() -> None:
    tried = Tried()
    await tried.tick()
    tried.source.failure = "ssh db1: gone"
    assert await tried.tick() == NamedSample(None, "ssh db1: gone", failed=True)
    reads = tried.source.reads
    tries = []
    for number in range(10):
        assert await tried.tick() == NamedSample(None, "ssh db1: gone", failed=True)
        if tried.source.reads > reads:
            reads = tried.source.reads
            tries.append(number)
    assert tries == [0, 2, 6]


async def test_a_host_that_is_back_begins_from_scratch() -> None:
    tried = Tried()
    await tried.tick()
    tried.source.failure = "gone"
    await tried.tick()
    tried.source.failure = ""
    assert await tried.tick() == NamedSample(None, FIRST_NOTE)
    assert (await tried.tick()).sample is not None


async def test_an_answer_that_is_late_is_a_gap_and_collected_later() -> None:
    tried = Tried()
    await tried.tick()
    tried.source.gate.clear()
    late = await tried.tick(patience=0.0)
    assert late == NamedSample(None, "no answer from ssh:db1 in time", failed=True)
    assert (await tried.tick(patience=0.0)).failed
    assert tried.source.reads == 2
    tried.source.gate.set()
    found = await tried.tick()
    assert found.sample is not None
    assert found.sample.moved("", HOST).sums[HOST + "seconds"] == 3.0


async def test_closing_ends_a_reading_under_way() -> None:
    tried = Tried()
    tried.source.gate.clear()
    await tried.tick(patience=0.0)
    await tried.host.close()
    assert tried.source.reads == -1
