"""The server's own traffic between two readings of its counters."""

import pytest

from tuibench.metrics.figures import read
from tuibench.metrics.series.rates import CounterInterval
from tuibench.model.histogram import Histogram
from tuibench.observe.server.statement_times import TimedInterval
from tuibench.observe.server.traffic import OwnStatements, traffic_in

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
