"""The summary's figures, and client against server."""

from typing import Any

import msgspec
import pytest
from hdrh.histogram import HdrHistogram

from tests.examples import EVENT, PLAN, SERVER
from tests.unit.session.worker_reports import report
from tuibench.load.worker_report import Counters, FairnessStats
from tuibench.model.histogram import Histogram
from tuibench.model.measurements.headline import Headline
from tuibench.model.results.summary import Summary
from tuibench.model.target import Target
from tuibench.session.spec import SessionSpec
from tuibench.session.totals.report_aggregation import LoadTotals
from tuibench.session.totals.run_summary import (
    RunEnding,
    ServerReading,
    build_summary,
    counter_deltas,
    reconcile,
)


def reading(questions: int, own: int = 0, uptime: int = 100, **counters: int) -> ServerReading:
    return ServerReading(counters={"Questions": questions, **counters}, own=own, uptime_seconds=uptime)


CLIENT = Counters(questions=1000, commits=50, reads=900, others=100)


@pytest.mark.parametrize(
    ("before", "after", "foreign"),
    [
        (reading(500, own=10), reading(1520, own=30), 0),
        (reading(500, own=10), reading(1620, own=30), 100),
        (reading(500, own=10), reading(1510, own=30), -10),
        (None, reading(1520), None),
        (reading(500), None, None),
        (reading(500, uptime=100), reading(1520, uptime=3), None),
        (reading(500), reading(400), None),
    ],
)
def test_what_is_left_over_was_sent_by_others(
    before: ServerReading | None, after: ServerReading | None, foreign: int | None
) -> None:
    result = reconcile(CLIENT, before, after)
    assert (result.foreign, result.questions_client, result.commits_client) == (foreign, 1000, 50)
    assert (result.questions_server is None) == (foreign is None)


def test_incomplete_figures_are_not_taken_for_foreign_traffic() -> None:
    result = reconcile(CLIENT, reading(0), reading(5000), is_complete=False)
    assert (result.foreign, result.questions_server) == (None, 5000)


def test_commits_are_compared_too() -> None:
    result = reconcile(CLIENT, reading(0, Com_commit=7), reading(1000, Com_commit=57))
    assert (result.commits_client, result.commits_server) == (50, 50)
    assert reconcile(CLIENT, reading(0), reading(1000)).commits_server is None


def test_a_counter_that_was_not_there_before_has_no_delta() -> None:
    assert counter_deltas(reading(1, Com_commit=3), reading(5, Com_commit=9, Slow_queries=2)) == {
        "Questions": 4,
        "Com_commit": 6,
    }


# Kinds of transactions


def test_kinds_of_transactions_come_in_the_profiles_order_with_what_else_was_counted() -> None:
    accounting = LoadTotals()
    accounting.begin([report(0)])
    counters = Counters(completed=3, retries=4, retried={"order": 4}, rolled_back={"order": 1})
    kinds = {"pay": Histogram.of([1000]), "order": Histogram.of([2000, 3000])}
    accounting.add_reports([report(0, 1000, 2000, 3000, counters=counters, by_transaction=kinds)])
    headline = Headline(title="tpm", transaction="order", ideal=120.0)
    result = summed(accounting, kinds=("order", "pay", "never"), headline=headline)
    assert list(result.by_transaction) == ["order", "pay"]
    order = result.by_transaction["order"]
    assert (order.count, order.retries, order.rolled_back, order.max) == (2, 4, 1, 3.0)
    assert result.headline is not None
    assert (result.headline.value, result.headline.efficiency) == (60.0, 50.0)
    assert summed(accounting).headline is None


# The whole summary


def finished() -> LoadTotals:
    accounting = LoadTotals()
    accounting.begin([report(0)])
    accounting.tick(
        [
            report(
                0,
                1_000,
                3_000,
                8_000,
                counters=Counters(
                    scheduled=6,
                    completed=3,
                    failed=2,
                    abandoned=1,
                    reads=40,
                    writes=12,
                    others=8,
                    questions=62,
                    commits=3,
                    retries=2,
                    reconnects=1,
                    errors={1213: 2},
                ),
                statements={"commit": Histogram.of([500, 900])},
                events_per_connection=FairnessStats.of([1.0, 2.0]),
                seconds_per_connection=FairnessStats.of([0.004, 0.008]),
                cpu_seconds=0.5,
            )
        ],
        2,
        0,
    )
    return accounting


def summed(accounting: LoadTotals, percentiles: tuple[float, ...] = (95.0,), **changes: Any) -> Summary:
    plan = msgspec.structs.replace(PLAN, percentiles=percentiles, deviations=("--force-pk is ignored",))
    spec = SessionSpec(session="s1", plan=plan, target=Target(), run_directory="/runs/s1")
    ending = RunEnding(
        seconds=2.0,
        threads=2,
        rate=0.0,
        workers=1,
        outcome="done",
        failure="",
        limited=False,
        client_delay_ms=0.0,
        warnings=(),
        events=(EVENT,),
        before=reading(100),
        after=reading(164, own=2),
    )
    return build_summary(spec, SERVER, accounting, msgspec.structs.replace(ending, **changes))


def test_figures_of_a_run() -> None:
    made = summed(finished())
    assert made.deviations == ("--force-pk is ignored",)
    assert (made.transactions.total, made.transactions.per_second) == (3, 1.5)
    assert (made.queries.read, made.queries.write, made.queries.other) == (40, 12, 8)
    assert (made.queries.total, made.queries.per_second) == (60, 30.0)
    assert (made.errors.total, made.errors.by_code) == (2, {"1213": 2})
    assert (made.retries, made.reconnects) == (2, 1)
    assert (made.scheduled, made.transactions.total, made.failed, made.abandoned) == (6, 3, 2, 1)
    assert (made.percentiles, made.latency_sum_ms) == ({"95": 8.0}, 12.0)
    assert (made.rate, made.service_ms) == (0.0, None)
    assert (made.fairness.events_avg, made.fairness.events_stddev) == (1.5, 0.5)
    assert (made.client.cpu_share, made.client.cpu_seconds) == (0.25, 0.5)
    assert made.statements["commit"].max == 0.9
    assert made.reconciliation.foreign == 0
    assert made.server.deltas == {"Questions": 64}
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
    made = summed(finished(), percentiles=wanted)
    assert list(made.percentiles.items()) == list(percentiles.items())


def test_an_open_loop_has_its_rate_and_service_times() -> None:
    accounting = finished()
    accounting.tick([report(0, 9_000, service=Histogram.of([2_000]))], 2, 40)
    made = summed(accounting, rate=40.0)
    assert made.rate == 40.0
    assert made.service_ms is not None
    assert (made.service_ms.count, made.service_ms.max) == (1, 2.0)


def test_a_run_that_failed_before_its_load_began() -> None:
    made = summed(LoadTotals(), seconds=0.0, outcome="failed", failure="why", before=None, after=None)
    assert (made.transactions.per_second, made.queries.per_second, made.client.cpu_share) == (0.0, 0.0, 0.0)
    assert (made.latency_ms, made.percentiles, made.failure) == (None, {"95": None}, "why")
    assert (made.server.deltas, made.reconciliation.foreign) == ({}, None)
    assert made.fairness.events_avg == 0.0
