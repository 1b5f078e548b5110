"""Where the binary log's syncs are counted, they are asked for; where not, nobody is bothered."""

import pytest

from tests.unit.observe.fakes import TARGET, FakeClock, FakeServer, server_of
from tuibench.errors import SQLError
from tuibench.model.counters import Counter
from tuibench.observe.server.status_sampler import BINLOG_SQL, STATUS_SQL, StatusSampler


@pytest.fixture
def server() -> FakeServer:
    made = FakeServer()
    made.variables |= {"performance_schema": "ON", "log_bin": "ON"}
    return made


def sampler_of(server: FakeServer) -> StatusSampler:
    return StatusSampler(TARGET, FakeClock(), interval_seconds=0.01, log_in=server.log_in)


async def test_syncs_and_bytes_are_among_the_counters(server: FakeServer) -> None:
    server.binlog = (204, 58_808)
    sample = server_of(await sampler_of(server).sample())
    assert sample is not None
    assert (
        sample.levels[Counter.PERFORMANCE_BINLOG_SYNCS],
        sample.levels[Counter.PERFORMANCE_BINLOG_BYTES],
    ) == (204, 58_808)


async def test_the_status_comes_last_so_that_it_has_counted_the_question(server: FakeServer) -> None:
    observation = await sampler_of(server).sample()
    assert server.received[-2:] == [BINLOG_SQL, STATUS_SQL]
    assert observation.own_statements == len(server.received)


@pytest.mark.parametrize("name", ["performance_schema", "log_bin"])
@pytest.mark.parametrize("value", ["OFF", None])
async def test_without_performance_schema_or_binary_log_nothing_is_queried(
    server: FakeServer, name: str, value: str | None
) -> None:
    del server.variables[name]
    server.variables |= {name: value} if value else {}
    sample = server_of(await sampler_of(server).sample())
    assert sample is not None
    assert Counter.PERFORMANCE_BINLOG_SYNCS not in sample.levels
    assert BINLOG_SQL not in server.received


async def test_a_refusal_is_taken_once_and_costs_nothing_else(server: FakeServer) -> None:
    server.binlog = SQLError(1142, "SELECT command denied")
    sampler = sampler_of(server)
    for _ in range(3):
        sample = server_of(await sampler.sample())
        assert sample is not None
        assert Counter.PERFORMANCE_BINLOG_SYNCS not in sample.levels
    assert server.received.count(BINLOG_SQL) == 1


async def test_a_connection_that_breaks_meanwhile_is_a_gap_and_comes_back(server: FakeServer) -> None:
    sampler = sampler_of(server)
    await sampler.sample()
    server.connections[0].is_broken = True
    assert (await sampler.sample()).tick is None
    sample = server_of(await sampler.sample())
    assert sample is not None
    assert Counter.PERFORMANCE_BINLOG_SYNCS in sample.levels
