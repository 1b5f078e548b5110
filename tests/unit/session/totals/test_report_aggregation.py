"""Reports of several workers into samples and totals: nothing is lost, nothing counted twice."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ticks import figures
from tests.unit.session.worker_reports import report
from tuibench.load.worker_report import Counters, FairnessStats, WorkerReport
from tuibench.metrics.figures import read
from tuibench.model.histogram import Histogram
from tuibench.model.tick import Tick, total_tick
from tuibench.session.totals.report_aggregation import LoadTotals


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
    assert accounting.statements["commit"] == Histogram.of([900, 500])


def test_fairness_is_that_of_the_last_reports() -> None:
    accounting = begun(0, 1)
    for events in ([1.0], [5.0, 7.0]):
        accounting.tick([report(0, events_per_connection=FairnessStats.of(events)), report(1)], 2, 0)
    per_connection = accounting.per_connection("events_per_connection")
    assert (per_connection.n, per_connection.mean) == (2, 6.0)


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
    assert accounting.service == Histogram.of([2_000, 1_000] * 2)
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
    assert accounting.transactions == Histogram.of(everything)


def test_a_checkpoint_starts_over_and_changes_neither_ticks_nor_totals() -> None:
    accounting = begun(0)
    accounting.add_reports([report(0, 1_000, counters=counters(10))])
    assert accounting.since_checkpoint.counters.completed == 10
    accounting.checkpoint()
    part, interval = taken(accounting, [report(0, 3_000, counters=counters(14))], 2, 0)
    since = accounting.since_checkpoint
    assert (since.counters.completed, since.transactions.count, since.transactions.max_us) == (4, 1, 3_000)
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
    assert accounting.transactions.count == 0
    _part, interval = taken(accounting, [report(0, 7_000, 8_000, counters=counters(15, reads=150))], 4, 0)
    assert (accounting.transactions_total, interval.sums["completed"], interval.hist("response").count) == (
        15,
        5,
        3,
    )
    assert accounting.totals == counters(2, reads=20)
    assert accounting.transactions.count == accounting.since_checkpoint.transactions.count == 2
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
        assert accounting.since_checkpoint.transactions.count == 2 * workers * tick
        assert accounting.transactions.count == 2 * workers * tick
        assert len(folds) == (workers + 1) * histograms
