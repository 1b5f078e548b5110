"""Where statements spend their time, traffic and queues."""

from typing import Any, cast

import pytest

from tests.fakes import FakeClock
from tests.unit.observe.fakes import TARGET, FakeServer, server_of
from tests.virtual import VirtualClock, in_no_time
from tuibench.base.errors import SQLError
from tuibench.metrics.figures import read
from tuibench.metrics.series import CounterInterval
from tuibench.model.counters import Counter
from tuibench.model.tick import Histogram
from tuibench.mysql.connection import Connection
from tuibench.observe.digests import read_digests
from tuibench.observe.statement_times import (
    AverageSource,
    HistogramSource,
    OwnStatements,
    QueryTimer,
    ResponseTimeSource,
    StatementTimes,
    StatementTimesReader,
    TimedInterval,
    choose_source,
    refusal_reason,
    timed,
    times_between,
    traffic_in,
)
from tuibench.observe.status import GROUP_SQL, StatusSampler

# Statement times: which source a server has, and what is left when our own statements are subtracted.


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
        found = await reader.read(timed(connection, timer), variables)
        assert not found.is_known
        assert words in found.note == refusal_reason(server.failure)
    assert len(server.received) == 1


async def test_own_statements_are_timed() -> None:
    server, timer = FakeServer(), QueryTimer()
    connection = await server.log_in(TARGET)
    await timed(connection, timer).query("SHOW GLOBAL STATUS")
    await timed(connection, timer).query("\nSELECT 1")
    assert (len(timer.take()), timer.take()) == (2, ())
    await timed(connection, None).query("SELECT 1")
    assert timer.take() == ()


# Statement digests: what grew meanwhile, and what MariaDB keeps no digests of.


class Server:
    """A server whose figures are ten times as large at the second look."""

    def __init__(self, prefix: str, executions: list[int]) -> None:
        self._prefix = prefix
        self._executions = executions
        self._times = 1

    def quote(self, text: str) -> str:
        return f"'{text}'"

    async def query(self, sql: str) -> list[tuple[Any, ...]]:
        if "statement/com/Execute" in sql:
            return [(self._executions.pop(0),)] if self._executions else []
        times, self._times = self._times, self._times * 10
        return [("a", f"{self._prefix}SELECT ?", times, 1.0, 2.0), ("b", "PREPARE SELECT ?", 1, 1.0, 2.0)]


def test_executions_that_mariadb_keeps_no_digests_of_are_counted() -> None:
    async def scenario(clock: VirtualClock) -> None:
        found = await read_digests(cast(Connection, Server("", [40, 100])), "shop", 5.0, clock)
        assert found == ({"SELECT ?": 9}, 5.0, 60)

    in_no_time(scenario)


def test_mysql_has_digests_of_them() -> None:
    async def scenario(clock: VirtualClock) -> None:
        found, _, unseen = await read_digests(cast(Connection, Server("EXECUTE ", [])), "shop", 0.0, clock)
        assert (found, unseen) == ({"SELECT ?": 1}, 0)

    in_no_time(scenario)


# The queues of a member of a group are gauges of its samples; elsewhere nothing is asked.


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


# The server's own traffic between two readings of its counters.


DELTAS = {
    "Questions": 103,
    "Com_select": 61,
    "Qcache_hits": 5,
    "Com_update": 20,
    "Com_insert": 5,
    "Com_replace_select": 1,
    "Com_commit": 7,
    "Com_xa_commit": 1,
    "Com_rollback": 2,
}
NO_TIMES = TimedInterval(None, None, "performance_schema is OFF")


def test_traffic_is_that_of_others() -> None:
    found = traffic_in(CounterInterval(seconds=2.0, deltas=DELTAS), OwnStatements(3, 1), NO_TIMES)
    sums = found.sums
    assert [sums[name] for name in ("queries", "reads", "writes", "others")] == [100, 65, 26, 9]
    assert (sums["commits"], sums["rollbacks"]) == (8, 2)
    sample = found
    assert read("qps", sample) == pytest.approx(50)
    assert read("tps", sample) == pytest.approx(4)
    assert (read("p95", sample), read("statement_avg", sample)) == (None, None)
    assert sample.missing["latency"] == "performance_schema is OFF"


def test_a_statement_that_is_counted_late_makes_nothing_negative() -> None:
    interval = CounterInterval(seconds=1.0, deltas={"Questions": 1, "Com_select": 1})
    found = traffic_in(interval, OwnStatements(2, 2), NO_TIMES)
    assert [found.sums[name] for name in ("queries", "reads", "others")] == [0, 0, 0]


def test_latencies_are_those_of_the_server() -> None:
    times = TimedInterval(Histogram.of([100, 200, 3000]), 1.1, "by performance_schema")
    found = traffic_in(CounterInterval(seconds=1.0, deltas=DELTAS), OwnStatements(), times)
    sample = found
    assert (sample.hist("response").count, sample.missing["latency"]) == (3, times.note)
    assert read("statement_avg", sample) == pytest.approx(1.1)
