"""What two readings say happened between them."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.observe.fakes import STATUS
from tuibench.metrics.figures import read
from tuibench.model.counters import CUMULATIVE_NAMES
from tuibench.observe.server.statement_times import StatementTimes
from tuibench.observe.server.status_reading import StatusReading, kept_status, observation_between

BASE = StatusReading(
    at_ns=0,
    connection=1,
    identity="db:3306:/data/",
    status=STATUS,
    max_connections=151,
    table_open_cache=2000,
    own_statements=2,
    transactions=None,
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


def test_another_server_behind_the_same_address_is_a_restart() -> None:
    assert observation_between(BASE, later(1, connection=2, identity="db2:3306:/data/")).restarted


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


def test_rows_that_are_not_ours_or_no_numbers_are_dropped() -> None:
    rows = [("Questions", "12"), ("Com_select", ""), ("Rsa_public_key", "1"), ("Uptime", "-1")]
    assert kept_status(rows) == {"Questions": 12}


def test_innodb_counters_of_a_server_without_innodb_are_unknown() -> None:
    rows = [("Innodb_page_size", "0"), ("Innodb_os_log_fsyncs", "0"), ("Questions", "7")]
    assert kept_status(rows) == {"Questions": 7}
    real = [("Innodb_page_size", "16384"), ("Innodb_os_log_fsyncs", "0")]
    assert kept_status(real) == {"Innodb_page_size": 16384, "Innodb_os_log_fsyncs": 0}
