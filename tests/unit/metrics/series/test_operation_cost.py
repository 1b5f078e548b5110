"""Cost per operation: what was used by how many, and never a zero for what is not known."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.examples import load_part, sample
from tests.ticks import host_tick, joined, server_tick
from tuibench.metrics.series.cost_messages import change_parts, cost_lines, effect_cost_lines, resource_text
from tuibench.metrics.series.operation_cost import operation_cost, resource_use, total_use, window_cost
from tuibench.metrics.series.slots import Slot
from tuibench.model.experiments.effect import Effect
from tuibench.model.measurements.operation_cost import OperationCost, Resource
from tuibench.model.tick import Tick

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
    assert "10,000.00 µs server CPU" in lines[0]
    assert "819 B disk written" in lines[0]
    assert resource_text(Resource.SERVER_CPU, None) == resource_text(Resource.REDO_BYTES, None) == "–"


def test_costs_before_and_after_a_change_are_in_the_effect() -> None:
    use = resource_use(tick())
    slot = Slot(end_seconds=2.0, seconds=2.0, transactions=100, use=use)
    cost = window_cost([slot, slot])
    assert cost == operation_cost(use)
    assert window_cost([slot._replace(use=None)]) is None
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
