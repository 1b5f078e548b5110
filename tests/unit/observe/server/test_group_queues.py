"""The queues of a member of a group are gauges of its samples; elsewhere nothing is asked."""

import pytest

from tests.unit.observe.fakes import TARGET, FakeClock, FakeServer, server_of
from tuibench.errors import SQLError
from tuibench.model.counters import Counter
from tuibench.observe.server.status_sampler import GROUP_SQL, StatusSampler


@pytest.fixture
def server() -> FakeServer:
    made = FakeServer()
    made.variables |= {"group_replication_group_name": "5f2d0c6e-5c5b-11ef-9a39-0242ac120002"}
    return made


async def gauges(server: FakeServer, samples: int = 1) -> dict[str, int]:
    sampler = StatusSampler(TARGET, FakeClock(), interval_seconds=0.01, log_in=server.log_in)
    told = [server_of(await sampler.sample()) for _ in range(samples)]
    assert told[-1] is not None
    return {name: int(value) for name, value in told[-1].levels.items()}


async def test_both_queues_of_a_member_are_gauges(server: FakeServer) -> None:
    server.group = (3, 41)
    found = await gauges(server)
    assert (found[Counter.GROUP_QUEUE], found[Counter.GROUP_APPLIER_QUEUE]) == (3, 41)


async def test_a_server_that_has_left_its_group_tells_no_queue(server: FakeServer) -> None:
    assert Counter.GROUP_QUEUE not in await gauges(server)


async def test_without_a_group_nothing_is_asked(server: FakeServer) -> None:
    server.variables["group_replication_group_name"] = ""
    server.group = (3, 41)
    assert Counter.GROUP_QUEUE not in await gauges(server)
    assert GROUP_SQL not in server.received


async def test_a_refusal_is_taken_once(server: FakeServer) -> None:
    server.group = SQLError(1142, "SELECT command denied")
    assert Counter.GROUP_QUEUE not in await gauges(server, samples=3)
    assert server.received.count(GROUP_SQL) == 1
