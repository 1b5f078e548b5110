"""The summary of a run from the sum of its ticks."""

from typing import Any

import pytest
from hdrh.histogram import HdrHistogram
from msgspec.structs import replace

from tests.examples import PLAN, SERVER
from tests.unit.session.test_load_ticks import counters, taken
from tests.unit.session.worker_reports import report
from tuibench.load.messages import Counters
from tuibench.model.findings import Headline
from tuibench.model.server import Target
from tuibench.model.summary import Summary
from tuibench.model.tick import Histogram, Tick
from tuibench.record.recorder import PlanRecord
from tuibench.record.summary import summary_of
from tuibench.session.load_ticks import LoadTicks

RECORD = PlanRecord(session="s1", started_at=1.0, plan=PLAN, target=Target(), server=SERVER)

TICK = Tick(
    seconds=2.0,
    sums={
        "scheduled": 6,
        "completed": 3,
        "failed": 2,
        "abandoned": 1,
        "reads": 40,
        "writes": 12,
        "others": 8,
        "queries": 60,
        "questions": 62,
        "commits": 3,
        "retries": 2,
        "reconnects": 1,
        "error.1213": 2,
        "worker_cpu_seconds": 0.5,
    },
    levels={"threads": 2, "rate": 0.0},
    hists={"response": Histogram.of([1_000, 3_000, 8_000]), "stmt.commit": Histogram.of([500, 900])},
)


def summed(tick: Tick = TICK, percentiles: tuple[float, ...] = (95.0,), **changes: Any) -> Summary:
    plan = replace(PLAN, percentiles=percentiles, deviations=("--force-pk is ignored",))
    return summary_of(replace(RECORD, plan=plan), tick, **changes)


def test_figures_of_a_run() -> None:
    made = summed()
    assert made.deviations == ("--force-pk is ignored",)
    assert (made.threads, made.rate, made.seconds) == (2, 0.0, 2.0)
    assert (made.transactions.total, made.transactions.per_second) == (3, 1.5)
    assert (made.queries.read, made.queries.write, made.queries.other) == (40, 12, 8)
    assert (made.queries.total, made.queries.per_second) == (60, 30.0)
    assert (made.errors.total, made.errors.by_code) == (2, {"1213": 2})
    assert (made.retries, made.reconnects) == (2, 1)
    assert (made.scheduled, made.transactions.total, made.failed, made.abandoned) == (6, 3, 2, 1)
    assert (made.percentiles, made.latency_sum_ms) == ({"95": 8.0}, 12.0)
    assert made.service_ms is None
    assert (made.client.cpu_share, made.client.cpu_seconds) == (0.25, 0.5)
    assert summed(workers=2).client.cpu_share == 0.125
    assert made.statements["commit"].max == 0.9
    assert (made.reconciliation.questions_client, made.reconciliation.commits_client) == (62, 3)
    assert (made.figures["tps"], made.figures["qps"]) == (1.5, 30.0)
    assert HdrHistogram.decode(made.latency_histogram).get_total_count() == 3


@pytest.mark.parametrize(
    ("wanted", "percentiles"),
    [
        ((), {}),
        ((50.0, 95.0, 99.9), {"50": 3.001, "95": 8.0, "99.9": 8.0}),
        ((99.0, 1.0), {"99": 8.0, "1": 1.0}),
    ],
)
def test_the_percentiles_are_those_asked_for_in_their_order(
    wanted: tuple[float, ...], percentiles: dict[str, float]
) -> None:
    assert list(summed(percentiles=wanted).percentiles.items()) == list(percentiles.items())


def test_an_open_loop_has_its_service_times() -> None:
    made = summed(replace(TICK, levels={"rate": 40.0}, hists={"service": Histogram.of([2_000])}))
    assert made.rate == 40.0
    assert made.service_ms is not None
    assert (made.service_ms.count, made.service_ms.max) == (1, 2.0)


def test_a_run_without_a_tick_has_zeros_and_no_latency() -> None:
    made = summed(Tick())
    assert (made.transactions.per_second, made.queries.per_second, made.client.cpu_share) == (0.0, 0.0, 0.0)
    assert (made.latency_ms, made.percentiles, made.outcome) == (None, {"95": None}, "cut short")
    assert (made.server.deltas, made.reconciliation.foreign) == ({}, None)
    assert made.fairness.events_avg == 0.0


def test_kinds_of_transactions_come_in_the_profiles_order_with_what_else_was_counted() -> None:
    reported = LoadTicks()
    reported.begin([report(0, counters=counters(0))])
    done = Counters(completed=3, retries=4, retried={"order": 4}, rolled_back={"order": 1})
    kinds = {"pay": Histogram.of([1000]), "order": Histogram.of([2000, 3000])}
    tick = taken(reported, [report(0, 1000, 2000, 3000, counters=done, by_transaction=kinds, seconds=2.0)])
    headline = Headline(title="tpm", transaction="order", ideal=120.0)
    result = summary_of(replace(RECORD, headline=headline), tick, kinds=("order", "pay", "never"))
    assert list(result.by_transaction) == ["order", "pay"]
    order = result.by_transaction["order"]
    assert (order.count, order.retries, order.rolled_back, order.max) == (2, 4, 1, 3.0)
    assert result.headline is not None
    assert (result.headline.value, result.headline.efficiency) == (60.0, 50.0)
    assert summed().headline is None


def test_the_traffic_of_a_server_has_figures_of_its_own_and_none_of_a_client() -> None:
    traffic = Tick(
        seconds=4.0,
        sums={
            "completed": 20, "queries": 100, "reads": 100, "questions": 100, "rollbacks": 3,
            "timed": 100, "statement_ms": 250.0, "thread_seconds": 10.0,
        },
        peaks={"threads_running": 7.0},
        missing={"latency": "an average"},
    )  # fmt: skip
    made = summed(traffic, is_traffic=True)
    assert made.watched is not None
    assert (made.transactions.per_second, made.queries.total, made.watched.rollbacks) == (5.0, 100, 3)
    assert (made.watched.threads_running_avg, made.watched.threads_running_max) == (2.5, 7)
    assert (made.watched.latency_avg_ms, made.watched.latency_note) == (2.5, "an average")
    assert (made.reconciliation.questions_client, made.headline) == (0, None)
    assert summed().watched is None


def test_connections_are_counted_if_they_are_part_of_the_load() -> None:
    plan = replace(PLAN, idle_connections=5, users=8)
    tick = Tick(
        seconds=2.0,
        sums={"completed": 1, "logins": 6, "missed_logins": 1},
        levels={"idle": 4},
        hists={"login": Histogram.of([700]), "wait": Histogram.of([300])},
    )
    found = summary_of(replace(RECORD, plan=plan), tick).connection_load
    assert found is not None
    assert (found.idle, found.idle_wanted, found.logins, found.missed_logins) == (4, 5, 6, 1)
    assert (found.logins_per_second, found.users) == (3.0, 8)
    assert (found.login_ms, found.wait_ms) == (Histogram.of([700]).latency(), Histogram.of([300]).latency())
    assert summed().connection_load is None
