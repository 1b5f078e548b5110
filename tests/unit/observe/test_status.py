"""Status, variables, InnoDB metrics and binary log of a server."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import FakeClock
from tests.ticks import figures
from tests.unit.observe.fakes import STATUS, TARGET, FakeServer, server_of
from tuibench.base.errors import ServerUnavailableError, SQLError
from tuibench.metrics.figures import read
from tuibench.model.counters import CUMULATIVE_NAMES, Counter
from tuibench.model.tick import Tick
from tuibench.mysql.connection import OwnConnections
from tuibench.mysql.rows import Row
from tuibench.observe.statement_times import OwnStatements, StatementTimes
from tuibench.observe.status import (
    ALIASES,
    BINLOG_SQL,
    GIVE_UP_SECONDS,
    INNODB_EVERY_TICKS,
    INNODB_METRICS,
    INNODB_METRICS_SQL,
    NO_STATUS,
    NOT_KNOWN,
    PROCESS_NEEDED,
    STATUS_SQL,
    StatusReading,
    StatusSampler,
    is_volatile,
    kept_status,
    observation_between,
    variable_changes,
)

# The sampler over a scripted server: rates, gaps, and how it comes back.


@dataclass
class Bench:
    server: FakeServer
    clock: FakeClock
    sampler: StatusSampler
    own: OwnConnections


@pytest.fixture
def bench() -> Bench:
    server, clock, own = FakeServer(), FakeClock(), OwnConnections()
    sampler = StatusSampler(TARGET, clock, interval_seconds=0.01, log_in=server.log_in, own=own)
    return Bench(server, clock, sampler, own)


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
    assert bench.own.statements == 0
    first = await bench.sampler.sample()
    assert first.own_statements == bench.own.statements == 3
    await bench.sampler.variables()
    bench.server.connections[0].is_broken = True
    await bench.sampler.sample()
    assert (await bench.sampler.sample()).own_statements == 7
    await bench.sampler.close()
    assert bench.own.statements == 8
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


# What two readings say happened between them.


BASE = StatusReading(
    at_ns=0,
    connection=1,
    identity="db:3306:/data/",
    status=STATUS,
    max_connections=151,
    table_open_cache=2000,
    transactions=None,
    own=OwnStatements(2),
)


def later(
    seconds: float, *, connection: int = 1, identity: str = BASE.identity, **status: int
) -> StatusReading:
    """The reading after these seconds; the server's ages grow along unless given."""
    ages = {name: STATUS[name] + int(seconds) for name in ("Uptime", "Uptime_since_flush_status")}
    return msgspec.structs.replace(
        BASE,
        at_ns=round(seconds * 1e9),
        connection=connection,
        identity=identity,
        status=STATUS | ages | status,
    )


def test_nothing_happened() -> None:
    seen = observation_between(BASE, later(1))
    assert (seen.restarted, seen.counters_reset) == (False, False)
    assert seen.tick is not None
    assert read("questions", seen.tick) == 0.0


def test_a_new_connection_alone_is_no_restart() -> None:
    seen = observation_between(BASE, later(1, connection=2))
    assert (seen.restarted, seen.tick is None) == (False, False)


@pytest.mark.parametrize("uptime", [3, 1001, 1055])
def test_a_restart_shows_though_its_uptime_is_long_again(uptime: int) -> None:
    assert observation_between(BASE, later(60, connection=2, Uptime=uptime)).restarted


def test_a_restart_behind_a_proxy_shows_by_its_counters() -> None:
    assert observation_between(BASE, later(1, Uptime=0, Questions=3)).restarted


def test_a_restart_right_after_the_start_shows_by_its_counters() -> None:
    assert observation_between(BASE, later(1, connection=2, Questions=3)).restarted


def without(reading: StatusReading, *names: str) -> StatusReading:
    status = {name: value for name, value in reading.status.items() if name not in names}
    return msgspec.structs.replace(reading, status=status)


AGES = ("Uptime", "Uptime_since_flush_status")


def test_without_an_uptime_a_restart_shows_by_a_lost_connection_and_fewer_statements() -> None:
    before = without(BASE, *AGES)
    assert observation_between(before, without(later(5, connection=2, Questions=3), *AGES)).restarted
    killed = observation_between(before, without(later(5, connection=2), *AGES))
    assert (killed.restarted, killed.counters_reset) == (False, False)
    flushed = observation_between(before, without(later(5, Questions=3), *AGES))
    assert (flushed.restarted, flushed.counters_reset) == (False, True)


def test_a_server_that_counts_no_statements_is_restarted_if_another_counter_fell() -> None:
    unknown = (*AGES, "Questions")
    before = without(BASE, *unknown)
    seen = observation_between(before, without(later(5, connection=2, Com_commit=1), *unknown))
    assert seen.restarted
    assert seen.tick is not None
    assert (seen.tick.levels.get("Questions"), read("questions", seen.tick)) == (
        None,
        None,
    )


def test_without_a_count_of_statements_there_is_no_traffic() -> None:
    timed = msgspec.structs.replace(BASE, times=StatementTimes(note="none here"))
    after = msgspec.structs.replace(later(1, Com_commit=710), times=StatementTimes(note="none here"))
    assert observation_between(timed, after).traffic is not None
    seen = observation_between(without(timed, "Questions"), without(after, "Questions"))
    assert seen.traffic is None
    assert seen.tick is not None
    assert read("com_commit", seen.tick) == 10


def test_a_clock_set_back_is_no_restart() -> None:
    seen = observation_between(BASE, later(1, Uptime=500, Uptime_since_flush_status=500))
    assert (seen.restarted, seen.counters_reset) == (False, False)


def test_another_server_behind_the_same_address_is_a_restart_without_rates() -> None:
    seen = observation_between(BASE, later(1, identity="hostname db2, port 3306", Questions=10**12))
    assert (seen.restarted, seen.replaced_by) == (True, "hostname db2, port 3306")
    assert seen.tick is not None
    assert read("questions", seen.tick) is None


def test_an_uptime_that_runs_ahead_makes_a_gap_without_a_restart() -> None:
    """The counters may be those of a server that has run for longer; or its clock was set forward."""
    seen = observation_between(BASE, later(1, Uptime=90_000, Questions=10**12))
    assert (seen.restarted, seen.replaced_by, seen.counters_reset) == (False, "", False)
    assert seen.tick is not None
    assert read("questions", seen.tick) is None


async def test_the_server_is_recognised_at_each_reading_over_one_connection(bench: Bench) -> None:
    one = {"hostname": "db1", "port": "3306", "server_id": "1", "server_uuid": "a-1"}
    bench.server.variables |= one
    assert not (await bench.sampler.sample(0)).restarted
    for other, is_other in ((one, False), ({"server_uuid": "b-2"}, True), ({}, False), (one, True)):
        bench.server.variables |= other
        pass_time(bench, 1, Questions=10**9 if is_other else 5)
        seen = await bench.sampler.sample(0)
        assert seen.restarted is is_other
        assert ("server_uuid" in seen.replaced_by) is is_other
        assert (read("questions", server_of(seen)) is None) is is_other
    assert len(bench.server.connections) == 1


def test_flush_status_makes_a_gap_even_where_no_counter_went_back() -> None:
    seen = observation_between(BASE, later(1, Uptime_since_flush_status=0, Questions=9000))
    assert (seen.counters_reset, seen.restarted) == (True, False)
    assert seen.tick is not None
    assert read("questions", seen.tick) is None


def test_a_counter_that_went_back_makes_a_gap() -> None:
    seen = observation_between(BASE, later(1, Slow_queries=0))
    assert seen.counters_reset
    assert seen.tick is not None
    assert read("slow", seen.tick) is None


@given(st.integers(0, 10**6), st.floats(0.5, 600))
def test_a_steady_server_never_seems_restarted(questions: int, seconds: float) -> None:
    seen = observation_between(BASE, later(seconds, connection=2, Questions=STATUS["Questions"] + questions))
    assert not seen.restarted
    assert seen.tick is not None
    assert read("questions", seen.tick) == pytest.approx(questions / round(seconds, 9), rel=1e-6)


def test_gauges_are_not_recorded_as_counters() -> None:
    seen = observation_between(None, BASE)
    assert seen.tick is not None
    gauges = {"Uptime", "Threads_running", "Open_tables"}
    assert set(seen.tick.levels) & CUMULATIVE_NAMES == set(STATUS) & CUMULATIVE_NAMES
    assert gauges < set(seen.tick.levels)
    grown = observation_between(BASE, later(3))
    assert grown.tick is not None
    assert "Questions" in grown.tick.sums
    assert not gauges & set(grown.tick.sums)


def test_log_fsyncs_come_from_the_log_where_the_server_counts_it_separately() -> None:
    both = {"Innodb_os_log_fsyncs": 0, "Innodb_data_fsyncs": 0}
    before = msgspec.structs.replace(BASE, status=STATUS | both)
    for grown, expected in (({"Innodb_os_log_fsyncs": 7, "Innodb_data_fsyncs": 9}, 7.0), ({}, 0.0)):
        seen = observation_between(before, msgspec.structs.replace(later(1), status=STATUS | both | grown))
        assert seen.tick is not None
        assert read("fsyncs_per_second", seen.tick) == expected
    only_data = {name: value for name, value in STATUS.items() if name != "Innodb_os_log_fsyncs"}
    before = msgspec.structs.replace(BASE, status=only_data | {"Innodb_data_fsyncs": 0})
    after = msgspec.structs.replace(later(1), status=only_data | {"Innodb_data_fsyncs": 9})
    seen = observation_between(before, after)
    assert seen.tick is not None
    assert read("fsyncs_per_second", seen.tick) == 9.0


def test_rows_that_are_no_numbers_are_missing_with_their_reasons() -> None:
    rows = [("Questions", "12"), ("Com_select", "²"), ("Rsa_public_key", "x"), ("Uptime", "-1")]
    assert kept_status(rows) == (
        {"Questions": 12},
        {"Com_select": "not a number that can be read: '²'", "Uptime": "not a number that can be read: '-1'"},
    )


async def test_a_figure_that_cannot_be_read_does_not_end_a_run(bench: Bench) -> None:
    bench.server.variables["max_connections"] = "NaN"
    await bench.sampler.sample(0)
    pass_time(bench, 1, Com_commit=5)
    bench.server.status |= {"Questions": "1" * 5000, "Threads_running": "²"}  # type: ignore[dict-item]
    tick = server_of(await bench.sampler.sample(1))
    assert tick.missing.keys() == {"Questions", "Threads_running", "max_connections"}
    assert tick.sums["Com_commit"] == 5
    assert bench.sampler.last_error == ""


async def test_an_answer_of_another_shape_is_a_gap_with_its_reason(bench: Bench) -> None:
    async def answer(sql: str) -> Sequence[Row]:
        return [("Questions", "1", "?")]

    bench.server.answer = answer  # type: ignore[method-assign]
    seen = await bench.sampler.sample(0)
    assert seen.tick is None
    assert seen.last_error.startswith("an answer cannot be read: too many values")


def test_innodb_counters_of_a_server_without_innodb_are_unknown() -> None:
    rows = [("Innodb_page_size", "0"), ("Innodb_os_log_fsyncs", "0"), ("Questions", "7")]
    assert kept_status(rows).found == {"Questions": 7}
    real = [("Innodb_page_size", "16384"), ("Innodb_os_log_fsyncs", "0")]
    assert kept_status(real).found == {"Innodb_page_size": 16384, "Innodb_os_log_fsyncs": 0}


# Which changes of variables are news.


BEFORE = {"sync_binlog": "1", "timestamp": "1.0", "gtid_executed": "a:1", "gtid_mode": "OFF", "port": "3306"}


def test_nothing_changed() -> None:
    assert variable_changes(BEFORE, dict(BEFORE)) == ()


def test_changes_come_by_name() -> None:
    after = BEFORE | {"sync_binlog": "0", "gtid_mode": "ON"}
    assert variable_changes(BEFORE, after) == (
        ("gtid_mode", "OFF", "ON"),
        ("sync_binlog", "1", "0"),
    )


def test_what_always_moves_is_no_news() -> None:
    assert variable_changes(BEFORE, BEFORE | {"timestamp": "2.0", "gtid_executed": "a:1-9"}) == ()


def test_own_changes_are_not_reported_until_another_session_changes_the_variable() -> None:
    ours = {"sync_binlog": "0"}
    assert variable_changes(BEFORE, BEFORE | {"sync_binlog": "0"}, ours) == ()
    assert variable_changes(BEFORE, BEFORE | {"sync_binlog": "7"}, ours) == (("sync_binlog", "1", "7"),)


@pytest.mark.parametrize(("first", "second"), [(first, second) for second, first in ALIASES.items()])
def test_a_variable_with_two_names_is_reported_once(first: str, second: str) -> None:
    assert variable_changes({first: "10", second: "10"}, {first: "7", second: "7"}) == ((first, "10", "7"),)


def test_a_second_name_alone_is_reported() -> None:
    assert variable_changes({"tx_isolation": "A"}, {"tx_isolation": "B"}) == (("tx_isolation", "A", "B"),)


def test_variables_of_a_plugin_that_comes_or_goes_are_no_changes() -> None:
    assert variable_changes(BEFORE, BEFORE | {"plugin_x": "1"}) == ()
    assert variable_changes(BEFORE | {"plugin_x": "1"}, BEFORE) == ()


@pytest.mark.parametrize(
    "name", ["gtid_current_pos", "gtid_binlog_state", "last_insert_id", "rand_seed1", "timestamp"]
)
def test_volatile(name: str) -> None:
    assert is_volatile(name)


@pytest.mark.parametrize("name", ["gtid_mode", "gtid_strict_mode", "innodb_flush_log_at_trx_commit"])
def test_settings_are_not_volatile(name: str) -> None:
    assert not is_volatile(name)


# What MySQL tells of InnoDB in a table of its own: asked every few ticks, a refusal taken once.


async def parts_of(server: FakeServer, ticks: int) -> list[Tick]:
    sampler = StatusSampler(TARGET, FakeClock(), interval_seconds=0.01, log_in=server.log_in)
    found = [server_of(await sampler.sample()) for _ in range(ticks)]
    return [sample for sample in found if sample is not None]


async def test_the_history_list_and_deadlocks_are_reported() -> None:
    (sample,) = await parts_of(FakeServer(), 1)
    assert (
        sample.levels[Counter.METRICS_HISTORY_LIST_LENGTH],
        sample.levels[Counter.METRICS_DEADLOCKS],
    ) == (7, 1)
    assert sample.missing == {}
    assert all(f"'{name}'" in INNODB_METRICS_SQL for name in INNODB_METRICS)


async def test_it_is_queried_every_few_ticks_and_keeps_its_value_in_between() -> None:
    server = FakeServer()
    parts = await parts_of(server, 2 * INNODB_EVERY_TICKS)
    assert server.received.count(INNODB_METRICS_SQL) == 2
    assert {sample.levels[Counter.METRICS_HISTORY_LIST_LENGTH] for sample in parts} == {7}


async def test_a_refusal_is_taken_once_and_said() -> None:
    server = FakeServer()
    server.metrics = SQLError(1227, "Access denied; you need PROCESS")
    parts = await parts_of(server, 2 * INNODB_EVERY_TICKS)
    assert server.received.count(INNODB_METRICS_SQL) == 1
    assert parts[0].missing == parts[-1].missing == dict.fromkeys(INNODB_METRICS.values(), PROCESS_NEEDED)
    assert Counter.METRICS_HISTORY_LIST_LENGTH not in parts[0].levels
    assert parts[0].levels[Counter.COM_COMMIT] == 700


async def test_a_server_of_another_make_does_not_know_the_table() -> None:
    server = FakeServer()
    server.metrics = SQLError(1146, "Table 'information_schema.innodb_metrics' doesn't exist")
    (sample,) = await parts_of(server, 1)
    assert sample.missing == dict.fromkeys(INNODB_METRICS.values(), NOT_KNOWN)


async def test_mariadb_is_not_asked_for_what_its_status_has() -> None:
    server = FakeServer()
    server.variables["version"] = "10.11.19-MariaDB-log"
    server.status[Counter.HISTORY_LIST_LENGTH] = 12
    (sample,) = await parts_of(server, 1)
    assert INNODB_METRICS_SQL not in server.received
    assert sample.levels[Counter.HISTORY_LIST_LENGTH] == 12


# Where the binary log's syncs are counted, they are asked for; where not, nobody is bothered.


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
