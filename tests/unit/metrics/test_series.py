"""Series of ticks: rates, costs, settling."""

import math
import random
from statistics import mean
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.examples import load_part, sample
from tests.ticks import host_tick, joined, server_tick
from tests.unit.metrics.noises import ar1
from tuibench.metrics.costs import (
    CostLedger,
    change_parts,
    cost_lines,
    effect_cost_lines,
    operation_cost,
    resource_text,
    resource_use,
    total_use,
    window_cost,
)
from tuibench.metrics.series import (
    counter_interval,
    growth,
    is_at_rest,
    ratio,
    settled_at,
    slow_lines,
    slow_text,
    trend_ratio,
)
from tuibench.model.effect import CommitCost, Effect
from tuibench.model.findings import OperationCost, Resource
from tuibench.model.settings import COMMIT_ROLES, ServerVariable, SettingGroup, SettingState
from tuibench.model.tick import SlowTransaction, Tick, TimedStatement

# Cost of a commits, by the value that was active; and what belongs to no value.


FLUSH_LOG, SYNC_BINLOG = ServerVariable.FLUSH_LOG, ServerVariable.SYNC_BINLOG

MARIADB = ("Innodb_data_fsyncs", "Innodb_lsn_current", "Binlog_bytes_written", "Binlog_group_commits")
MYSQL = (
    "Innodb_os_log_fsyncs",
    "Innodb_data_fsyncs",
    "Innodb_redo_log_current_lsn",
    "performance_schema.binlog_syncs",
    "performance_schema.binlog_bytes",
)
TICKS = (0.5, 1.0, 3.0, 1.0)
"""The lengths of ticks, in turn."""


def setting(name: str, value: str) -> SettingState:
    roles = COMMIT_ROLES if name in (FLUSH_LOG, SYNC_BINLOG) else ()
    return SettingState(
        name=name,
        value=value,
        original=value,
        meaning="",
        at_risk=False,
        group=SettingGroup.DURABILITY,
        roles=roles,
    )


class Server:
    """Counters that grow by so much for every commit, a hundred commits a second."""

    def __init__(self, counters: tuple[str, ...]) -> None:
        self.ledger = CostLedger()
        self.counters = counters
        self.values: dict[str, str] = {FLUSH_LOG: "1", SYNC_BINLOG: "1"}

    def work(self, *lengths: float, **each: float) -> None:
        for seconds in lengths:
            self.tick(seconds, round(100 * seconds), **each)

    def tick(self, seconds: float, commits: int, **each: float) -> None:
        growth = {name: commits * each.get(name.rpartition(".")[2], 0) for name in self.counters}
        self.ledger.add(server_tick(seconds=seconds, completed=commits, growth=growth), self.settings())

    def look(self) -> None:
        """A reading without one before it."""
        self.ledger.add(server_tick(), self.settings())

    def settings(self) -> list[SettingState]:
        return [setting(name, value) for name, value in self.values.items()]

    def set(self, name: str, value: str) -> None:
        self.values = {**self.values, name: value}
        self.ledger.changed()

    def cost(self, setting: str, value: str) -> CommitCost:
        return next(one for one in self.ledger.costs if (one.setting, one.value) == (setting, value))


def test_each_value_has_its_own_average() -> None:
    server = Server(MYSQL)
    server.look()
    server.work(*TICKS, Innodb_os_log_fsyncs=1.02, Innodb_redo_log_current_lsn=6000, binlog_syncs=1)
    server.set(FLUSH_LOG, "0")
    server.work(1.0, *TICKS, Innodb_os_log_fsyncs=0.01, Innodb_redo_log_current_lsn=5800, binlog_syncs=1)
    durable, unsafe = server.cost(FLUSH_LOG, "1"), server.cost(FLUSH_LOG, "0")
    assert durable.log_fsyncs == pytest.approx(1.02)
    assert unsafe.log_fsyncs == pytest.approx(0.01)
    assert unsafe.log_bytes == pytest.approx(5800)
    assert (durable.seconds, durable.transactions) == (5.5, 550)
    assert (unsafe.seconds, unsafe.transactions) == (5.5, 550)
    assert server.cost(SYNC_BINLOG, "1").binlog_syncs == pytest.approx(1)
    assert server.cost(SYNC_BINLOG, "1").transactions == 1100


def test_back_at_a_value_its_average_goes_on() -> None:
    server = Server(MYSQL)
    server.look()
    for value in ("0", "1", "0", "1"):
        server.set(FLUSH_LOG, value)
        server.work(1.0, 0.5, 1.5, Innodb_os_log_fsyncs=1 if value == "1" else 0)
    assert server.cost(FLUSH_LOG, "1").log_fsyncs == 1
    assert server.cost(FLUSH_LOG, "1").transactions == 400


@pytest.mark.parametrize(("sync", "expected"), [("1", 0.5), ("10", 0.05), ("0", 0.0)])
def test_mariadb_syncs_the_binary_log_once_for_so_many_groups(sync: str, expected: float) -> None:
    server = Server(MARIADB)
    server.values[SYNC_BINLOG] = sync
    server.look()
    server.work(*TICKS, Binlog_group_commits=0.5)
    assert server.cost(SYNC_BINLOG, sync).binlog_syncs == pytest.approx(expected)


def test_mysql_counts_the_logs_own_fsyncs() -> None:
    server = Server(MYSQL)
    server.look()
    server.work(0.5, 3.0, Innodb_os_log_fsyncs=1, Innodb_data_fsyncs=3)
    assert server.cost(FLUSH_LOG, "1").log_fsyncs == 1


def test_what_is_not_counted_is_none_and_not_zero() -> None:
    server = Server(("Innodb_data_fsyncs",))
    server.look()
    server.work(0.5, 3.0, Innodb_data_fsyncs=1)
    cost = server.cost(FLUSH_LOG, "1")
    assert (cost.log_bytes, cost.binlog_syncs, cost.binlog_bytes, cost.row_lock_waits) == (None,) * 4


def test_a_tick_without_growth_costs_nothing() -> None:
    """After a restart, a FLUSH STATUS or a missing reading."""
    server = Server(MYSQL)
    server.look()
    server.work(*TICKS, Innodb_os_log_fsyncs=1)
    server.look()
    server.work(0.5, 1.0, Innodb_os_log_fsyncs=2)
    cost = server.cost(FLUSH_LOG, "1")
    assert (cost.seconds, cost.transactions) == (7.0, 700)
    assert cost.log_fsyncs == pytest.approx((550 + 2 * 150) / 700)


def test_an_average_is_weighted_by_what_its_ticks_counted() -> None:
    server = Server(MYSQL)
    server.look()
    server.tick(3.0, 900, Innodb_os_log_fsyncs=1)
    server.tick(0.5, 100, Innodb_os_log_fsyncs=0)
    assert server.cost(FLUSH_LOG, "1").log_fsyncs == pytest.approx(0.9)


def test_other_settings_have_costs_once_they_changed() -> None:
    server = Server(MYSQL)
    name = ServerVariable.REDO_LOG_ENABLED
    server.values[name] = "ON"
    server.look()
    server.work(1.0, 1.0)
    assert [cost.setting for cost in server.ledger.costs] == [FLUSH_LOG, SYNC_BINLOG]
    server.set(name, "OFF")
    server.work(1.0, 1.0)
    assert server.cost(name, "OFF").transactions == 100


def test_a_setting_for_speed_has_no_cost() -> None:
    ledger = CostLedger()
    for value in "1122":
        tuned = msgspec.structs.replace(setting("innodb_flush_neighbors", value), group=SettingGroup.TUNING)
        ledger.add(server_tick(growth={"Innodb_data_fsyncs": 1}, completed=1), [tuned])
    assert ledger.costs == ()


def test_without_commits_there_is_no_cost() -> None:
    server = Server(MYSQL)
    server.look()
    server.tick(1.0, 0)
    assert server.cost(FLUSH_LOG, "1").log_fsyncs is None


# Cost per operation: what was used by how many, and never a zero for what is not known.


BUSY: dict[str, Any] = {
    "seconds": 2.0,
    "cores": 2,
    "cpu_server": 25.0,
    "cpu_tuibench": 5.0,
    "server_voluntary_switches": 800,
    "server_involuntary_switches": 40,
    "server_read_bytes": 0,
    "server_written_bytes": 81_920,
}
GROWTH = {"Questions": 2000, "Bytes_received": 1000, "Bytes_sent": 4000, "Innodb_os_log_fsyncs": 50}


def tick(host: Tick | None = None, growth: dict[str, float] | None = None, tps: float = 50.0) -> Tick:
    load = load_part(seconds=2.0, transactions_per_second=tps, queries_per_second=1000.0)
    server = server_tick(seconds=2.0, growth=GROWTH if growth is None else growth)
    return joined(2.0, load=load, server=server, host=host_tick(**BUSY) if host is None else host)


def cost_of(*ticks: Tick) -> OperationCost:
    return operation_cost(total_use(map(resource_use, ticks)))


def test_each_resource_is_shared_out() -> None:
    cost = cost_of(tick())
    each = cost.per_transaction
    assert each[Resource.SERVER_CPU] == pytest.approx(1e6 / 100), "a quarter of 2 cores for 2 s"
    assert each[Resource.CLIENT_CPU] == pytest.approx(0.2e6 / 100)
    assert each[Resource.VOLUNTARY_SWITCHES] == pytest.approx(8)
    assert each[Resource.DISK_READ_BYTES] == 0
    assert each[Resource.FSYNCS] == pytest.approx(0.5)
    assert each[Resource.NETWORK_BYTES] == pytest.approx(50)
    assert cost.per_query[Resource.SERVER_CPU] == pytest.approx(1e6 / 2000)


def test_what_is_not_known_is_absent() -> None:
    cost = cost_of(tick(Tick()))
    assert set(cost.per_query) == {Resource.FSYNCS, Resource.NETWORK_BYTES}
    unseen = {"cpu_server": None, "server_voluntary_switches": None, "server_written_bytes": None}
    cost = cost_of(tick(host_tick(**(BUSY | unseen))))
    assert Resource.SERVER_CPU not in cost.per_query
    assert Resource.DISK_WRITTEN_BYTES not in cost.per_query
    assert Resource.CLIENT_CPU in cost.per_query


def test_a_tick_without_growth_and_a_gap_cost_nothing() -> None:
    assert cost_of(Tick(end=2.0)) == OperationCost()
    assert cost_of(sample(load=None, server=server_tick(), host=host_tick(**BUSY)).tick) == OperationCost()
    assert Resource.FSYNCS not in cost_of(tick(growth={})).per_query


def test_each_resource_is_shared_out_over_the_ticks_that_measured_it() -> None:
    blind = tick(host_tick(**(BUSY | {"cpu_server": None})))
    busy = tick(host_tick(**(BUSY | {"cpu_server": 75.0})), tps=150.0)
    cost = cost_of(tick(), blind, busy)
    assert cost.per_transaction[Resource.SERVER_CPU] == pytest.approx((1e6 + 3e6) / 400)
    assert cost.per_transaction[Resource.FSYNCS] == pytest.approx(150 / 500)


def test_without_transactions_there_is_a_cost_per_query_only() -> None:
    cost = cost_of(tick(tps=0.0))
    assert cost.per_transaction == {}
    assert Resource.SERVER_CPU in cost.per_query


def test_a_cost_is_said_with_its_units() -> None:
    lines = cost_lines(cost_of(tick()))
    assert [line.partition(":")[0] for line in lines] == ["cost of a transaction", "cost of a query"]
    assert "10 ms server CPU" in lines[0]
    assert "819 B disk written" in lines[0]
    assert resource_text(Resource.SERVER_CPU, None) == resource_text(Resource.REDO_BYTES, None) == "–"


def test_costs_before_and_after_a_change_are_in_the_effect() -> None:
    use = resource_use(tick())
    cost = window_cost([tick(), tick()])
    assert cost == operation_cost(use)
    assert window_cost([Tick(end=2.0)]) is None
    effect = Effect(
        markers=(1,),
        change="x",
        at_seconds=0.0,
        window_seconds=1.0,
        settling_seconds=0.0,
        settled=True,
        comparisons=(),
    )
    assert effect_cost_lines(effect) == []
    told = replace(effect, cost_before=cost, cost_after=cost)
    assert "log fsyncs 0.50 → 0.50" in effect_cost_lines(told)[0]
    assert len(change_parts(cost, cost)) == len(use.used)


# Counters into rates: what is known adds up, what is not known is None.


counts = st.integers(min_value=0, max_value=2**64)
readings = st.dictionaries(st.sampled_from("abcdef"), counts)
seconds = st.floats(min_value=0.001, max_value=1e6)


@given(readings, readings, seconds)
def test_every_counter_of_both_readings_either_grew_or_went_back(
    before: dict[str, int], after: dict[str, int], elapsed: float
) -> None:
    interval = counter_interval(before, after, elapsed)
    grew, fell = set(interval.deltas), set(interval.went_back)
    assert grew | fell == set(before) & set(after)
    assert not grew & fell
    assert interval.reset == any(after[name] < before[name] for name in fell | grew)


@given(readings, readings, seconds)
def test_a_delta_leads_from_one_reading_to_the_next(
    before: dict[str, int], after: dict[str, int], elapsed: float
) -> None:
    for name, delta in counter_interval(before, after, elapsed).deltas.items():
        assert before[name] + delta == after[name]


@given(counts, counts, counts)
def test_two_intervals_add_up_to_the_whole(first: int, second: int, third: int) -> None:
    low, middle, high = sorted((first, second, third))
    parts = [
        counter_interval({"n": a}, {"n": b}, 1.0).deltas.get("n") for a, b in ((low, middle), (middle, high))
    ]
    assert sum(part or 0 for part in parts) == counter_interval({"n": low}, {"n": high}, 2.0).deltas.get("n")


def test_a_counter_that_went_back_has_no_growth_and_is_named() -> None:
    interval = counter_interval({"fell": 5, "grew": 1}, {"fell": 4, "grew": 3}, 1.0)
    assert interval.went_back == ("fell",)
    assert interval.deltas == {"grew": 2}


def test_a_counter_missing_on_either_side_has_no_growth() -> None:
    interval = counter_interval({"gone": 5}, {"new": 4}, 1.0)
    assert (interval.deltas.get("gone"), interval.deltas.get("new"), interval.reset) == (None, None, False)


@pytest.mark.parametrize(
    ("before", "after", "expected"), [(1, 3, 2), (3, 3, 0), (3, 1, None), (None, 3, None), (1, None, None)]
)
def test_growth(before: int | None, after: int | None, expected: int | None) -> None:
    assert growth(before, after) == expected


@pytest.mark.parametrize(
    ("part", "whole", "expected"), [(1, 4, 0.25), (0, 4, 0.0), (1, 0, None), (None, 4, None), (1, None, None)]
)
def test_ratio(part: float | None, whole: float | None, expected: float | None) -> None:
    assert ratio(part, whole) == expected


# When a load has come to rest: not too early after a change, at once where there is nothing to wait for.


WINDOW = 12


def approach(rng: random.Random, tau: float, count: int = 60) -> list[float]:
    """From 600 to 1000 with the time constant `tau`, in 3 % noise."""
    noise = ar1(rng, count, 0.3, 30.0)
    return [value - 400 * math.exp(-(place + 0.5) / tau) for place, value in enumerate(noise)]


def found(tau: float | None, runs: int = 60) -> list[int]:
    rng = random.Random(11)
    series = [ar1(rng, 60, 0.3, 30.0) if tau is None else approach(rng, tau) for _ in range(runs)]
    return [place for one in series if (place := settled_at((one,), WINDOW)) is not None]


def test_steady_noise_costs_next_to_nothing() -> None:
    assert mean(found(None)) < 1.5


@pytest.mark.parametrize(("tau", "remains"), [(1.0, 0.35), (2.0, 0.2), (4.0, 0.2)])
def test_an_exponential_approach_is_waited_for(tau: float, remains: float) -> None:
    places = found(tau)
    assert len(places) == 60
    assert mean(math.exp(-place / tau) for place in places) < remains
    assert mean(places) < 5 * tau + 1


def test_a_slower_approach_is_waited_for_longer() -> None:
    quick, slow = mean(found(1.0)), mean(found(4.0))
    assert quick < slow / 2


def test_a_series_that_never_rests_is_said_to_be_none() -> None:
    assert settled_at(([float(place) for place in range(80)],), WINDOW) is None


def test_all_series_must_rest() -> None:
    rng = random.Random(3)
    still, moving = ar1(rng, 60, 0.0, 10.0), approach(rng, 4.0)
    assert settled_at((still,), WINDOW) == 0
    both = settled_at((still, moving), WINDOW)
    assert both is not None
    assert both > 3


@given(st.lists(st.floats(0, 1e6), max_size=40), st.integers(1, 12), st.integers(0, 5), st.integers(0, 20))
def test_the_limits_are_kept_and_the_window_is_there(
    values: list[float], window: int, least: int, most: int
) -> None:
    place = settled_at((values,), window, least=least, most=most)
    if place is not None:
        assert least <= place <= most
        assert place + window <= len(values)
        assert is_at_rest(values[place : place + window])


@given(st.floats(-1e6, 1e6), st.integers(0, 30))
def test_a_flat_line_has_no_trend(level: float, count: int) -> None:
    assert trend_ratio([level] * count) == 0.0


@pytest.mark.parametrize(("slope", "ratio"), [(2.0, math.inf), (-2.0, -math.inf)])
def test_a_straight_climb_has_no_noise_to_hide_in(slope: float, ratio: float) -> None:
    assert trend_ratio([slope * place for place in range(9)]) == ratio


def test_the_trend_is_that_of_the_textbook() -> None:
    """Worked by hand: the mean is 0.875, the slope 0.55, and 5 the sum of squares of the index."""
    values = [0.0, 1.0, 0.5, 2.0]
    slope, residual = 0.55, sum((v - 0.875 - 0.55 * (p - 1.5)) ** 2 for p, v in enumerate(values))
    assert trend_ratio(values) == pytest.approx(slope / math.sqrt(residual / 2 / 5))


# The slowest transactions in words.


SLOW = SlowTransaction(
    transaction="oltp_write_only",
    response_ms=124.0,
    service_ms=84.0,
    statements=(
        TimedStatement("begin", 1, 0.1, 0.1),
        TimedStatement("point_select", 10, 4.0, 1.5),
        TimedStatement("index_update", 1, 9.8, 9.8, 1205),
        TimedStatement("commit", 1, 55.0, 55.0),
    ),
    at_seconds=72.0,
)


def test_where_the_time_went_is_said_most_first() -> None:
    assert slow_text(SLOW) == (
        "124 ms at 01:12, oltp_write_only: 40 ms waiting for a connection, commit 55 ms, "
        "index_update 9.8 ms (error 1205), 10 point_select 4 ms (longest 1.5 ms), 1 other 0.1 ms, "
        "15.1 ms between statements"
    )


def test_a_summary_without_transactions_says_nothing_of_them() -> None:
    assert list(slow_lines(())) == []
    assert next(iter(slow_lines((SLOW,) * 5))) == "the slowest:"
    assert len(list(slow_lines((SLOW,) * 5))) == 4
