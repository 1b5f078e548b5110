"""Statement times: which source a server has, and what is left when our own statements are subtracted."""

import pytest

from tests.unit.observe.fakes import TARGET, FakeServer
from tuibench.errors import SQLError
from tuibench.observe.server.statement_times import (
    AverageSource,
    HistogramSource,
    QueryTimer,
    ResponseTimeSource,
    StatementTimes,
    StatementTimesReader,
    choose_source,
    refusal_reason,
    times_between,
)

SCHEMA = {"performance_schema": "ON"}


def times(buckets: dict[int, int], total_us: float = 0.0, own_us: tuple[int, ...] = ()) -> StatementTimes:
    return StatementTimes(
        count=sum(buckets.values()), total_us=total_us, buckets=buckets, note="x", own_us=own_us
    )


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"version": "9.7.4", **SCHEMA}, HistogramSource),
        ({"version": "10.11.1-MariaDB", **SCHEMA}, AverageSource),
        ({"version": "10.11.1-MariaDB", "query_response_time_stats": "ON"}, ResponseTimeSource),
        ({"version": "5.7.30-33", "query_response_time_stats": "ON", **SCHEMA}, ResponseTimeSource),
    ],
)
def test_the_best_source_is_chosen(variables: dict[str, str], expected: type) -> None:
    assert isinstance(choose_source(variables), expected)


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"version": "9.7.4", "performance_schema": "OFF"}, "performance_schema is OFF"),
        ({"version": "10.11-MariaDB"}, "performance_schema is OFF, and the plugin"),
        (
            {"version": "10.11-MariaDB", "query_response_time_stats": "OFF"},
            "query_response_time_stats is OFF",
        ),
    ],
)
def test_without_a_source_the_reason_is_said(variables: dict[str, str], reason: str) -> None:
    assert str(choose_source(variables)).startswith(reason)


def test_the_histogram_of_mysql_is_read_in_microseconds() -> None:
    found = HistogramSource().times([("0", "10000000", "3"), ("954992586", "1000000000", "2")])
    assert (found.count, found.buckets) == (5, {10: 3, 1000: 2})
    assert found.total_us == pytest.approx(3 * 5 + 2 * 977.5, rel=1e-3)


def test_the_last_bucket_has_an_end() -> None:
    found = HistogramSource().times([("9120108393559408", "18446744073709551615", "1")])
    assert found.buckets == {10**10: 1}


def test_the_plugin_of_mariadb_is_read_in_microseconds() -> None:
    rows = [("      0.000010", "4", "      0.000020"), ("      1.000000", "1", "      0.400000")]
    found = ResponseTimeSource().times([*rows, ("TOO LONG", "1", "TOO LONG")])
    assert found.buckets == {10: 4, 1_000_000: 1, 10**10: 1}
    assert found.total_us == pytest.approx(400_020)


def test_an_interval_is_what_was_added() -> None:
    before, after = times({100: 5, 1000: 1}, 1500), times({100: 15, 1000: 1, 5000: 2}, 10_000)
    found = times_between(before, after)
    assert found.histogram is not None
    assert (found.histogram.count, found.histogram.min_us, found.histogram.max_us) == (12, 100, 5000)
    assert found.average_ms == pytest.approx(8.5 / 12)


def test_own_statements_are_taken_out_of_the_bucket_that_can_hold_them() -> None:
    before, after = times({}), times({100: 10, 1000: 1, 5000: 1}, 0, own_us=(1400, 90))
    found = times_between(before, after).histogram
    assert found is not None
    assert (found.count, found.max_us) == (10, 1000), "1,400 µs cannot lie below 1,000 µs: the 5,000 went"
    quiet = times_between(times({}), times({5000: 1}, 0, own_us=(1400,))).histogram
    assert quiet is not None
    assert quiet.count == 0


def test_an_average_is_that_of_others() -> None:
    before = StatementTimes(count=10, total_us=1000.0)
    after = StatementTimes(count=21, total_us=4000.0, own_us=(1000,))
    found = times_between(before, after)
    assert (found.histogram, found.average_ms) == (None, 0.2)


def test_a_reset_and_a_first_reading_are_gaps() -> None:
    assert times_between(None, times({100: 5})).histogram is None
    reset = times_between(times({100: 5}), times({100: 1}))
    assert (reset.histogram, reset.note) == (None, "the server's statement times were reset")
    unknown = StatementTimes(note="performance_schema is OFF", is_known=False)
    assert times_between(unknown, unknown) == (None, None, "performance_schema is OFF")


@pytest.mark.parametrize(
    ("code", "words"), [(1142, "need SELECT"), (1146, "no statement histograms"), (1109, "no statement")]
)
async def test_a_source_that_refuses_is_not_asked_again(code: int, words: str) -> None:
    server = FakeServer()
    connection = await server.log_in(TARGET)
    server.failure = SQLError(code, "no")
    timer = QueryTimer()
    reader = StatementTimesReader(timer)
    variables = {"version": "8.0.36", **SCHEMA}
    for _ in range(2):
        found = await reader.read(timer.on(connection), variables)
        assert not found.is_known
        assert words in found.note == refusal_reason(server.failure)
    assert len(server.received) == 1


async def test_own_statements_are_timed_and_counted() -> None:
    server, timer = FakeServer(), QueryTimer()
    timed = timer.on(await server.log_in(TARGET))
    await timed.query("SHOW GLOBAL STATUS")
    await timed.query("SHOW GLOBAL VARIABLES")
    assert (timer.selects, len(timer.take()), timer.take()) == (0, 2, ())
