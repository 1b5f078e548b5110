"""Cost per operation: what was used by how many, and never a zero for what is not known."""

from itertools import pairwise

import pytest
from msgspec.structs import replace

from tests.examples import load_part, sample
from tests.unit.record.files.test_ticks import HOST
from tests.unit.record.written import server_part
from tuibench.metrics.series.cost_messages import change_parts, cost_lines, effect_cost_lines, resource_text
from tuibench.metrics.series.operation_cost import operation_cost, resource_use, total_use, window_cost
from tuibench.metrics.series.slots import Slot
from tuibench.model.experiments.effect import Effect
from tuibench.model.measurements.operation_cost import OperationCost, Resource
from tuibench.model.measurements.sample import HostSample, Sample

BUSY = replace(
    HOST,
    cores=2,
    seconds=2.0,
    cpu_server=25.0,
    cpu_tuibench=5.0,
    server_voluntary_switches=800,
    server_involuntary_switches=40,
    server_read_bytes=0,
    server_written_bytes=81_920,
)
COUNTERS = {"Questions": 1000, "Bytes_received": 100, "Bytes_sent": 900, "Innodb_os_log_fsyncs": 10}
LATER = {"Questions": 3000, "Bytes_received": 1100, "Bytes_sent": 4900, "Innodb_os_log_fsyncs": 60}


def tick(number: int, counters: dict[str, int], host: HostSample | None = BUSY) -> Sample:
    load = load_part(seconds=2.0, transactions_per_second=50.0, queries_per_second=1000.0)
    return sample(number, load=load, server=server_part(1, counters=counters), host=host)


def cost_of(*samples: Sample) -> OperationCost:
    return operation_cost(total_use(resource_use(before, after) for before, after in pairwise(samples)))


def test_each_resource_is_shared_out() -> None:
    cost = cost_of(tick(1, COUNTERS), tick(2, LATER))
    each = cost.per_transaction
    assert each[Resource.SERVER_CPU] == pytest.approx(1e6 / 100), "a quarter of 2 cores for 2 s"
    assert each[Resource.CLIENT_CPU] == pytest.approx(0.2e6 / 100)
    assert each[Resource.VOLUNTARY_SWITCHES] == pytest.approx(8)
    assert each[Resource.DISK_READ_BYTES] == 0
    assert each[Resource.FSYNCS] == pytest.approx(0.5)
    assert each[Resource.NETWORK_BYTES] == pytest.approx(50)
    assert cost.per_query[Resource.SERVER_CPU] == pytest.approx(1e6 / 2000)


def test_what_is_not_known_is_absent() -> None:
    cost = cost_of(tick(1, COUNTERS, None), tick(2, LATER, None))
    assert set(cost.per_query) == {Resource.FSYNCS, Resource.NETWORK_BYTES}
    remote = replace(BUSY, cpu_server=None, server_voluntary_switches=None, server_written_bytes=None)
    cost = cost_of(tick(1, COUNTERS), tick(2, LATER, remote))
    assert Resource.SERVER_CPU not in cost.per_query
    assert Resource.DISK_WRITTEN_BYTES not in cost.per_query
    assert Resource.CLIENT_CPU in cost.per_query


def test_a_restart_and_a_gap_cost_nothing() -> None:
    gap = replace(tick(2, LATER), load=None)
    assert cost_of(tick(1, COUNTERS), gap) == OperationCost()
    assert resource_use(None, tick(1, COUNTERS)).used == {}
    restarted = cost_of(tick(1, LATER), tick(2, COUNTERS))
    assert Resource.FSYNCS not in restarted.per_query


def test_without_transactions_there_is_a_cost_per_query_only() -> None:
    quiet = [
        replace(each, load=replace(each.load, transactions_per_second=0.0))  # type: ignore[type-var]
        for each in (tick(1, COUNTERS), tick(2, LATER))
    ]
    cost = cost_of(*quiet)
    assert cost.per_transaction == {}
    assert Resource.SERVER_CPU in cost.per_query


def test_a_cost_is_said_with_its_units() -> None:
    lines = cost_lines(cost_of(tick(1, COUNTERS), tick(2, LATER)))
    assert [line.partition(":")[0] for line in lines] == ["cost of a transaction", "cost of a query"]
    assert "10,000.00 µs server CPU" in lines[0]
    assert "819 B disk written" in lines[0]
    assert resource_text(Resource.SERVER_CPU, None) == resource_text(Resource.REDO_BYTES, None) == "–"


def test_costs_before_and_after_a_change_are_in_the_effect() -> None:
    use = resource_use(tick(1, COUNTERS), tick(2, LATER))
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
