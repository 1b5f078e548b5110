"""Totals of a run: reports, summary, alarms."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import EVENT, PLAN, SERVER, load_part
from tests.ticks import figures
from tests.unit.session.worker_reports import report
from tuibench.load.fleet import Loss
from tuibench.load.messages import Counters, FairnessStats, WorkerReport
from tuibench.load.native_engine import Chosen
from tuibench.metrics.figures import read
from tuibench.model.event import EventKind
from tuibench.model.findings import Headline
from tuibench.model.message import SessionSpec
from tuibench.model.server import Target
from tuibench.model.summary import Summary
from tuibench.model.tick import Histogram, Tick, total_tick
from tuibench.mysql.errors import TOO_MANY_CONNECTIONS_HINTS
from tuibench.observe.status import ServerObservation
from tuibench.session.totals import (
    QUIET_TICKS,
    Alarms,
    LoadTotals,
    Reading,
    build_summary,
    counter_deltas,
    reconcile,
)

# Reports of several workers into samples and totals: nothing is lost, nothing counted twice.


def counters(completed: int, **more: Any) -> Counters:
    return Counters(scheduled=completed, completed=completed, **more)


def begun(*workers: int) -> LoadTotals:
    accounting = LoadTotals()
    accounting.begin([report(worker, counters=counters(0)) for worker in workers])
    return accounting


def taken(
    accounting: LoadTotals, reports: Sequence[WorkerReport], threads: int, rate: float
) -> tuple[Tick, Tick]:
    """A tick's own figures, and the tick with what is in arrears."""
    tick = accounting.tick(reports, threads, rate)
    return tick, total_tick((Tick(end=-1.0), tick))


def test_what_was_done_before_the_load_began_is_not_part_of_it() -> None:
    accounting = LoadTotals()
    accounting.begin([report(0, counters=Counters(others=50, questions=50, errors={2003: 3}))])
    part, _ = taken(
        accounting, [report(0, counters=Counters(others=60, questions=60, errors={2003: 3}))], 4, 0
    )
    assert (read("others", part), part.counts("error.")) == (10.0, {})
    assert accounting.totals == Counters(others=10, questions=10)


def test_rates_are_over_the_measured_interval() -> None:
    part, interval = taken(
        begun(0),
        [report(0, counters=counters(30, reads=420, writes=120, others=60, reconnects=3), seconds=1.5)],
        8,
        0,
    )
    assert (read("requested_threads", part), part.seconds) == (8, 1.5)
    assert figures(part, "tps", "qps") == (20.0, 400.0)
    assert figures(part, "reads", "writes", "others") == (280.0, 80.0, 40.0)
    assert read("reconnects_per_second", part) == 2.0
    assert (interval.sums["completed"], interval.sums["reads"], interval.seconds) == (30, 420, 1.5)


def test_a_sample_takes_the_busiest_and_the_latest_worker() -> None:
    accounting = begun(0, 1)
    part, _ = taken(
        accounting,
        [
            report(0, cpu_seconds=0.9, lag_p99_ms=1.0, connections=3),
            report(1, cpu_seconds=0.1, lag_p99_ms=7.0, connections=2),
        ],
        5,
        0,
    )
    assert figures(part, "worker_cpu", "scheduling_delay", "open_connections") == (
        0.9,
        7.0,
        5,
    )
    assert accounting.cpu_seconds == pytest.approx(1.0)


def test_a_tick_without_a_transaction_has_no_latency() -> None:
    part, _ = taken(begun(0), [report(0)], 4, 0)
    assert (part.hists, read("tps", part)) == ({}, 0.0)


def test_statements_of_several_workers_are_one() -> None:
    accounting = begun(0, 1)
    part, _ = taken(
        accounting,
        [
            report(0, statements={"point_select": Histogram.of([100]), "commit": Histogram.of([900])}),
            report(1, statements={"point_select": Histogram.of([300])}),
        ],
        2,
        0,
    )
    assert {name: latency.count for name, latency in part.named("stmt.").items()} == {
        "commit": 1,
        "point_select": 2,
    }
    accounting.tick([report(0, statements={"commit": Histogram.of([500])}), report(1)], 2, 0)
    assert accounting.run.hist("stmt.commit") == Histogram.of([900, 500])


def test_fairness_is_that_of_the_last_reports() -> None:
    accounting = begun(0, 1)
    for events in ([1.0], [5.0, 7.0]):
        fairness = FairnessStats.of((each, 0.5) for each in events)
        accounting.tick([report(0, fairness=fairness), report(1)], 2, 0)
    fairness, since = accounting.fairness
    assert (fairness.n, fairness.moments["events_avg"], since.n) == (2, 6.0, 0)


def test_a_worker_that_gave_no_last_report_keeps_what_it_had() -> None:
    accounting = begun(0, 1)
    accounting.tick([report(0, counters=counters(10)), report(1, counters=counters(20))], 2, 0)
    accounting.tick([report(1, counters=counters(25))], 2, 0)
    assert accounting.totals.completed == 35


def test_an_open_loop_shows_its_rate_its_backlog_and_its_service_time() -> None:
    accounting = begun(0, 1)
    for _ in range(2):
        part, interval = taken(
            accounting,
            [
                report(0, 9_000, counters=Counters(backlog=3, in_flight=4), service=Histogram.of([2_000])),
                report(1, 8_000, counters=Counters(backlog=5, in_flight=1), service=Histogram.of([1_000])),
            ],
            8,
            250.0,
        )
        assert (read("target_rate", part), read("backlog", part), interval.levels["in_flight"]) == (
            250.0,
            8,
            5,
        )
        service = part.hist("service")
        assert (read("max", part), service.max_us / 1000, service.count) == (9.0, 2.0, 2)
    assert accounting.run.hist("service") == Histogram.of([2_000, 1_000] * 2)
    closed, _ = taken(accounting, [report(0, 9_000), report(1)], 8, 0)
    assert figures(closed, "target_rate", "backlog", "service_p95") == (None, 0, None)


@given(st.lists(st.lists(st.lists(st.integers(1, 10**6), max_size=5), min_size=2, max_size=2), max_size=6))
def test_ticks_add_up_to_the_totals(rounds: list[list[list[int]]]) -> None:
    """Each round has the latencies of each of two workers; one transaction each."""
    accounting = begun(0, 1)
    done = [0, 0]
    told = 0.0
    for latencies in rounds:
        done = [before + len(new) for before, new in zip(done, latencies, strict=True)]
        _part, interval = taken(
            accounting, [report(w, *latencies[w], counters=counters(done[w])) for w in (0, 1)], 2, 0
        )
        told += interval.sums["completed"]
        assert accounting.transactions_total == told == sum(done)
    everything = [us for latencies in rounds for worker in latencies for us in worker]
    assert accounting.totals.completed == len(everything)
    assert accounting.run.hist("response") == Histogram.of(everything)


def test_a_checkpoint_starts_over_and_changes_neither_ticks_nor_totals() -> None:
    accounting = begun(0)
    accounting.add_reports([report(0, 1_000, counters=counters(10))])
    assert accounting.since_checkpoint.counters.completed == 10
    accounting.checkpoint()
    part, interval = taken(accounting, [report(0, 3_000, counters=counters(14))], 2, 0)
    since = accounting.since_checkpoint
    assert (since.counters.completed, since.hist("response").count, since.hist("response").max_us) == (
        4,
        1,
        3_000,
    )
    assert (interval.sums["completed"], interval.seconds, read("tps", part)) == (14, 2.0, 7.0)
    assert accounting.totals.completed == accounting.transactions_total == 14


def test_what_a_silent_worker_did_is_counted_when_it_answers_and_spread_over_its_silence() -> None:
    accounting = begun(0, 1)
    first, _ = taken(accounting, [report(0, counters=counters(10))], 2, 0)
    assert read("tps", first) == 10
    late = report(1, counters=counters(40), seconds=2.0)
    second, interval = taken(accounting, [report(0, counters=counters(20)), late], 2, 0)
    assert (second.seconds, read("tps", second)) == (1.0, 30.0)
    assert (interval.sums["completed"], accounting.totals.completed) == (50, 60)


# Beginning anew


def test_a_reset_drops_the_figures_and_the_ticks_continue() -> None:
    accounting = begun(0)
    accounting.tick([report(0, 5_000, counters=counters(10, reads=100))], 4, 0)
    accounting.reset_stats([report(0, 6_000, counters=counters(13, reads=130))])
    assert accounting.totals == Counters()
    assert accounting.run.hist("response").count == 0
    _part, interval = taken(accounting, [report(0, 7_000, 8_000, counters=counters(15, reads=150))], 4, 0)
    assert (accounting.transactions_total, interval.sums["completed"], interval.hist("response").count) == (
        15,
        5,
        3,
    )
    assert accounting.totals == counters(2, reads=20)
    assert accounting.run.hist("response").count == accounting.since_checkpoint.hist("response").count == 2
    assert accounting.since_checkpoint.counters == accounting.totals


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_transactions_in_flight_at_a_reset_count_in_the_new_figures(
    flying: int, waiting: int, more: int
) -> None:
    accounting = begun(0)
    before = Counters(scheduled=9 + flying + waiting, completed=9, in_flight=flying, backlog=waiting)
    accounting.reset_stats([report(0, counters=before)])
    after = Counters(
        scheduled=9 + flying + waiting + more, completed=9 + flying, abandoned=waiting, failed=more
    )
    accounting.add_reports([report(0, counters=after)])
    for totals in (accounting.totals, accounting.since_checkpoint.counters):
        assert (totals.in_flight, totals.backlog) == (0, 0)
        assert totals.scheduled == totals.completed + totals.failed + totals.abandoned
        assert (totals.completed, totals.abandoned, totals.failed) == (flying, waiting, more)


# Cost


def wide_report(worker: int, completed: int) -> WorkerReport:
    names = [f"statement {number}" for number in range(20)]
    statements = {name: Histogram.of([100, 300]) for name in names}
    by_transaction = {"pay": Histogram.of([700]), "order": Histogram.of([900])}
    done = counters(completed)
    return report(worker, 700, 900, counters=done, statements=statements, by_transaction=by_transaction)


def test_each_report_is_folded_once_and_so_is_each_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    folds: list[Histogram] = []
    add = Histogram.add

    def counting_add(self: Histogram, other: Histogram) -> None:
        if other.count:
            folds.append(other)
        add(self, other)

    monkeypatch.setattr(Histogram, "add", counting_add)
    accounting, workers, histograms = begun(0, 1, 2), 3, 23
    for tick in (1, 2):
        folds.clear()
        accounting.tick([wide_report(worker, tick) for worker in range(workers)], workers, 0)
        assert accounting.since_checkpoint.hist("response").count == 2 * workers * tick
        assert accounting.run.hist("response").count == 2 * workers * tick
        assert len(folds) == (workers + 1) * histograms


# The summary's figures, and client against server.


def reading(questions: int, own: int = 0, uptime: int = 100, **counters: int) -> ServerObservation:
    return ServerObservation(
        tick=Tick(),
        counters={"Questions": questions, **counters},
        own_statements=own,
        uptime_seconds=uptime,
    )


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
def test_what_is_left_over_was_sent_by_others(before: Reading, after: Reading, foreign: int | None) -> None:
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
                fairness=FairnessStats.of([(1.0, 0.004), (2.0, 0.008)]),
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
    ending: dict[str, Any] = {
        "seconds": 2.0,
        "threads": 2,
        "rate": 0.0,
        "workers": 1,
        "outcome": "done",
        "warnings": (),
        "events": (EVENT,),
        "readings": (reading(100), reading(164, own=2)),
        "engine": Chosen(is_native=False),
        "tick": Tick(),
    }
    return build_summary(spec, SERVER, accounting, **ending | changes)


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
    made = summed(LoadTotals(), seconds=0.0, outcome="failed", failure="why", readings=(None, None))
    assert (made.transactions.per_second, made.queries.per_second, made.client.cpu_share) == (0.0, 0.0, 0.0)
    assert (made.latency_ms, made.percentiles, made.failure) == (None, {"95": None}, "why")
    assert (made.server.deltas, made.reconciliation.foreign) == ({}, None)
    assert made.fairness.events_avg == 0.0


# What an operator is told about errors and connections, and how often.


WITH_ERRORS = load_part(transactions_per_second=100.0, errors_by_code={"1213": 19, "1205": 1})
CALM = load_part()


def refusing(**refused: int) -> Counters:
    return Counters(refused={int(code.removeprefix("e")): times for code, times in refused.items()})


def test_errors_are_reported_by_code() -> None:
    assert Alarms().check(WITH_ERRORS) == [
        (EventKind.ERRORS, "errors: 1213 deadlock × 19, 1205 lock wait timeout × 1")
    ]


@pytest.mark.parametrize(("errors", "told"), [(5.0, 0), (5.3, 1)])
def test_a_few_errors_are_everyday_life(errors: float, told: int) -> None:
    assert len(Alarms().check(load_part(seconds=10.0, errors_by_code={"1213": round(10 * errors)}))) == told


def test_errors_without_a_single_transaction_are_reported() -> None:
    nothing_works = load_part(transactions_per_second=0.0, errors_by_code={"2003": 1})
    assert Alarms().check(nothing_works) == [(EventKind.ERRORS, "errors: 2003 × 1")]


def test_the_same_error_is_reported_again_only_after_an_interval() -> None:
    alarms = Alarms()
    told = [bool(alarms.check(WITH_ERRORS)) for _ in range(2 * QUIET_TICKS + 1)]
    assert [tick for tick, said in enumerate(told) if said] == [0, QUIET_TICKS, 2 * QUIET_TICKS]


def test_one_error_does_not_hide_another() -> None:
    alarms = Alarms()
    alarms.check(WITH_ERRORS)
    back = load_part(seconds=2.0, reconnects_per_second=4.0)
    assert alarms.check(back) == [(EventKind.RECONNECT, "8 connections reopened")]
    assert alarms.check(CALM) == []


def test_a_running_worker_is_late_and_a_stopped_one_is_silent_each_reported_once() -> None:
    alarms = Alarms()
    alarms.report_unresponsive(["process 7", "process 8"], ["process 8"])
    late, silent = (text for _, text in alarms.check(CALM))
    assert "process 7 reports late" in late
    assert "process 8 does not answer" in silent
    alarms.report_unresponsive(["process 7", "process 8"], ["process 8"])
    assert alarms.check(CALM) == []
    alarms.report_unresponsive(["process 7"], ["process 7"])
    assert ["process 7 does not answer" in text for _, text in alarms.check(CALM)] == [True]


def test_refused_connections_are_counted_over_all_workers_and_reported_once() -> None:
    alarms = Alarms()
    reports = [report(0, counters=refusing(e1040=3)), report(1, counters=refusing(e1040=2, e1226=1))]
    assert alarms.refusals(reports) == 6
    assert alarms.refused(reports) == (
        "5 refused: too many connections (error 1040, max_connections); "
        "1 refused: the account's resource limit (error 1226)"
    )
    assert (alarms.refusals(reports), alarms.refused(reports)) == (0, "")
    assert (
        alarms.refusal_remedy(reports)
        == f"{TOO_MANY_CONNECTIONS_HINTS[1040]}; {TOO_MANY_CONNECTIONS_HINTS[1226]}"
    )
    assert alarms.refusal_remedy([report(0)]) == ""
    more = [report(0, counters=refusing(e1040=4)), reports[1]]
    assert alarms.refusals(more) == 1
    assert alarms.refused(more).startswith("1 refused: too many connections")


def test_a_statement_that_is_sent_as_text_is_no_refused_connection() -> None:
    alarms = Alarms()
    reports = [report(counters=refusing(e1461=40))]
    assert alarms.refusals(reports) == 0
    assert alarms.refused(reports) == (
        "40 statements are sent as text: the server accepts no more prepared statements (error 1461, "
        "max_prepared_stmt_count)"
    )
    assert alarms.refused(reports) == ""


def test_a_lost_worker_is_reported_once_with_its_losses() -> None:
    alarms = Alarms()
    name = "worker process 4711"
    losses = [Loss(name=name, reason=f"{name} ended unexpectedly", connections=8, abandoned=3)]
    for _ in range(2):
        alarms.lost(losses)
    ((kind, text),) = alarms.check(load_part())
    assert kind is EventKind.WARNING
    assert text == (
        "worker process 4711 ended unexpectedly: another worker opens its 8 connections again; "
        "3 transactions in flight and its work since its last report are lost"
    )
    assert alarms.check(load_part()) == []
