"""The sampler over a scripted server: rates, gaps, and how it comes back."""

import asyncio
from dataclasses import dataclass

import pytest

from tests.ticks import figures
from tests.unit.observe.fakes import TARGET, FakeClock, FakeServer, server_of
from tuibench.errors import ServerUnavailableError, SQLError
from tuibench.metrics.figures import read
from tuibench.observe.server.status_sampler import GIVE_UP_SECONDS, NO_STATUS, StatusSampler


@dataclass
class Bench:
    server: FakeServer
    clock: FakeClock
    sampler: StatusSampler


@pytest.fixture
def bench() -> Bench:
    server, clock = FakeServer(), FakeClock()
    sampler = StatusSampler(TARGET, clock, interval_seconds=0.01, log_in=server.log_in)
    return Bench(server, clock, sampler)


def pass_time(bench: Bench, seconds: int, **counters: int) -> None:
    bench.clock.advance(seconds)
    bench.server.grow(seconds, **counters)


async def test_the_first_sample_has_totals_and_no_rates(bench: Bench) -> None:
    sample = server_of(await bench.sampler.sample(transactions_total=0))
    assert sample is not None
    assert (
        sample.levels.get("Questions"),
        sample.levels.get("Slow_queries"),
        read("threads_running", sample),
    ) == (5000, 2, 3)
    assert (sample.levels.get("max_connections"), sample.levels.get("table_open_cache")) == (151, 2000)
    assert figures(sample, "questions", "slow", "fsyncs") == (
        None,
        None,
        None,
    )


async def test_rates_are_over_the_measured_interval(bench: Bench) -> None:
    await bench.sampler.sample(transactions_total=100)
    pass_time(
        bench,
        2,
        Questions=3000,
        Slow_queries=1,
        Com_commit=100,
        Innodb_os_log_fsyncs=150,
        Innodb_buffer_pool_reads=5,
        Innodb_buffer_pool_read_requests=1000,
        Innodb_row_lock_waits=8,
    )
    sample = server_of(await bench.sampler.sample(transactions_total=200))
    assert sample is not None
    assert read("questions", sample) == 1500.0
    assert read("slow", sample) == 1
    assert read("com_commit", sample) == 50.0
    assert read("fsyncs_per_second", sample) == 75.0
    assert read("fsyncs", sample) == 1.5
    assert read("pool_hit", sample) == 99.5
    assert read("innodb_row_lock_waits", sample) == 4.0


async def test_without_transactions_there_is_no_figure_per_transaction(bench: Bench) -> None:
    await bench.sampler.sample(transactions_total=7)
    pass_time(bench, 1, Innodb_os_log_fsyncs=5)
    sample = server_of(await bench.sampler.sample(transactions_total=7))
    assert sample is not None
    assert figures(sample, "fsyncs_per_second", "fsyncs") == (5.0, None)


async def test_a_broken_connection_is_one_gap_and_the_next_call_is_back(bench: Bench) -> None:
    await bench.sampler.sample()
    bench.server.connections[0].is_broken = True
    pass_time(bench, 1, Questions=10)
    lost = await bench.sampler.sample()
    assert (lost.tick, lost.last_error) == (None, "connection lost")
    pass_time(bench, 1, Questions=10)
    back = await bench.sampler.sample()
    assert back.tick is not None
    assert read("questions", back.tick) == 10.0
    assert (back.restarted, back.last_error) == (False, "")
    assert len(bench.server.connections) == 2
    assert bench.server.connections[0].end == "aborted"


async def test_a_restart_is_reported_once_and_rates_start_over(bench: Bench) -> None:
    await bench.sampler.sample()
    bench.server.restart()
    bench.clock.advance(3)
    assert (await bench.sampler.sample()).tick is None
    bench.clock.advance(1)
    first = await bench.sampler.sample()
    assert first.restarted
    assert first.tick is not None
    assert read("questions", first.tick) is None
    pass_time(bench, 1, Questions=40)
    second = await bench.sampler.sample()
    assert second.tick is not None
    assert (read("questions", second.tick), second.restarted) == (40.0, False)


async def test_a_server_that_is_away_is_a_gap_with_its_reason(bench: Bench) -> None:
    bench.server.refusal = ServerUnavailableError("cannot reach a server at localhost:3306")
    for _ in range(3):
        observation = await bench.sampler.sample()
        assert (observation.tick, observation.last_error) == (
            None,
            "cannot reach a server at localhost:3306",
        )
    bench.server.refusal = None
    assert (await bench.sampler.sample()).tick is not None


async def test_a_refused_statement_keeps_the_connection(bench: Bench) -> None:
    bench.server.failure = SQLError(1227, "access denied")
    assert (await bench.sampler.sample()).last_error == "access denied"
    bench.server.failure = None
    assert (await bench.sampler.sample()).tick is not None
    assert len(bench.server.connections) == 1


async def test_a_late_answer_is_a_gap_and_then_collected(bench: Bench) -> None:
    await bench.sampler.sample()
    bench.server.hold()
    assert (await bench.sampler.sample()).tick is None
    bench.clock.advance(1)
    assert (await bench.sampler.sample()).last_error == "no answer for 1.0 s"
    bench.server.release()
    pass_time(bench, 1)
    assert (await bench.sampler.sample()).tick is not None
    assert len(bench.server.connections) == 1
    assert bench.server.received.count("SHOW GLOBAL STATUS") == 2


async def test_a_server_that_stays_silent_is_given_up(bench: Bench) -> None:
    await bench.sampler.sample()
    bench.server.hold()
    await bench.sampler.sample()
    bench.clock.advance(GIVE_UP_SECONDS)
    await bench.sampler.sample()
    assert bench.server.connections[0].end == "aborted"
    bench.server.release()
    assert (await bench.sampler.sample()).tick is not None
    assert len(bench.server.connections) == 2


async def test_variables_wait_for_the_sample_in_flight(bench: Bench) -> None:
    await bench.sampler.sample()
    bench.server.hold()
    await bench.sampler.sample()
    assert await bench.sampler.variables() is None
    bench.server.release()
    variables = await bench.sampler.variables()
    assert variables is not None
    assert variables["max_connections"] == "151"


async def test_variables_that_changed_count_in_the_next_sample(bench: Bench) -> None:
    await bench.sampler.sample()
    bench.server.variables["max_connections"] = "500"
    await bench.sampler.variables()
    sample = server_of(await bench.sampler.sample())
    assert sample is not None
    assert sample.levels.get("max_connections") == 500


async def test_a_new_connection_reads_the_variables_again(bench: Bench) -> None:
    await bench.sampler.sample()
    bench.server.variables["table_open_cache"] = "77"
    bench.server.connections[0].is_broken = True
    await bench.sampler.sample()
    sample = server_of(await bench.sampler.sample())
    assert sample is not None
    assert sample.levels.get("table_open_cache") == 77


async def test_own_statements_count_over_all_connections(bench: Bench) -> None:
    assert bench.sampler.own_statements == 0
    first = await bench.sampler.sample()
    assert first.own_statements == bench.sampler.own_statements == 3
    await bench.sampler.variables()
    bench.server.connections[0].is_broken = True
    await bench.sampler.sample()
    assert (await bench.sampler.sample()).own_statements == 7
    await bench.sampler.close()
    assert bench.sampler.own_statements == 8
    assert bench.server.connections[1].end == "closed"


async def test_closing_drops_what_is_in_flight(bench: Bench) -> None:
    await bench.sampler.sample()
    bench.server.hold()
    await bench.sampler.sample()
    await bench.sampler.close()
    assert bench.server.connections[0].end == "aborted"
    await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})


async def test_a_figure_the_server_lacks_is_unknown(bench: Bench) -> None:
    del bench.server.status["Innodb_row_lock_waits"]
    await bench.sampler.sample()
    pass_time(bench, 1)
    sample = server_of(await bench.sampler.sample())
    assert sample is not None
    assert read("innodb_row_lock_waits", sample) is None


async def test_a_status_of_another_make_has_the_figures_that_it_knows(bench: Bench) -> None:
    for name in ("Uptime", "Uptime_since_flush_status", "Threads_running", "Open_tables", "Slow_queries"):
        del bench.server.status[name]
    await bench.sampler.sample()
    bench.clock.advance(2)
    bench.server.status["Questions"] += 30
    seen = await bench.sampler.sample()
    sample = server_of(seen)
    assert sample is not None
    assert (sample.levels.get("Uptime"), read("threads_running", sample), read("open_tables", sample)) == (
        None,
        None,
        None,
    )
    assert (sample.levels.get("Slow_queries"), read("slow", sample)) == (None, None)
    assert figures(sample, "threads_connected", "questions") == (9, 15.0)
    assert (seen.restarted, seen.counters_reset) == (False, False)


async def test_limits_that_are_not_numbers_are_unknown(bench: Bench) -> None:
    bench.server.variables |= {"max_connections": "", "table_open_cache": "AUTO"}
    sample = server_of(await bench.sampler.sample())
    assert sample is not None
    assert (sample.levels.get("max_connections"), sample.levels.get("table_open_cache")) == (0, 0)


async def test_a_status_without_any_of_the_counters_is_a_gap_with_its_reason(bench: Bench) -> None:
    bench.server.status = {"ddl_schema_version": 4}
    seen = await bench.sampler.sample()
    assert (seen.tick, seen.last_error) == (None, NO_STATUS)


async def test_who_the_server_is_can_be_asked_again(bench: Bench) -> None:
    info = await bench.sampler.info()
    assert info is not None
    assert (info.identity, info.uptime_seconds) == ("db:3306:/data/", 1000)


async def test_an_uptime_that_is_not_reported_is_unknown(bench: Bench) -> None:
    del bench.server.status["Uptime"]
    info = await bench.sampler.info()
    assert info is not None
    assert info.uptime_seconds is None
