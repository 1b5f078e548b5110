"""Ticks of the reports of several workers: nothing is lost, nothing counted twice."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ticks import figures
from tests.unit.session.worker_reports import report
from tuibench.load.messages import Counters, FairnessStats, WorkerReport
from tuibench.metrics.figures import read
from tuibench.model.tick import Histogram, Tick
from tuibench.session.account import Account
from tuibench.session.load_ticks import LoadTicks, WorkerTotals


def counters(completed: int, **more: Any) -> Counters:
    return Counters(scheduled=completed, completed=completed, **more)


def begun(*workers: int) -> LoadTicks:
    reported = LoadTicks()
    reported.begin([report(worker, counters=counters(0)) for worker in workers])
    return reported


def taken(reported: LoadTicks, reports: Sequence[WorkerReport]) -> Tick:
    """The tick that ends with these reports."""
    reported.add(reports)
    tick = reported.take()
    assert tick is not None
    return tick


def whole(*ticks: Tick) -> Tick:
    """Their sum, with all that is in arrears."""
    account = Account()
    for tick in ticks:
        account.add(tick)
    return account.total()


def test_what_was_done_before_the_load_began_is_not_part_of_it() -> None:
    reported = LoadTicks()
    reported.begin([report(0, counters=Counters(others=50, questions=50, errors={2003: 3}))])
    tick = taken(reported, [report(0, counters=Counters(others=60, questions=60, errors={2003: 3}))])
    assert (read("others", tick), tick.counts("error."), tick.sums["questions"]) == (10.0, {}, 10)


def test_rates_are_over_the_measured_interval() -> None:
    done = counters(30, reads=420, writes=120, others=60, reconnects=3)
    tick = taken(begun(0), [report(0, counters=done, seconds=1.5)])
    assert tick.seconds == 1.5
    assert figures(tick, "tps", "qps") == (20.0, 400.0)
    assert figures(tick, "reads", "writes", "others") == (280.0, 80.0, 40.0)
    assert read("reconnects_per_second", tick) == 2.0


def test_a_tick_has_the_busiest_and_the_latest_worker_and_the_cpu_time_of_all() -> None:
    tick = taken(
        begun(0, 1),
        [
            report(0, cpu_seconds=0.9, lag_p99_ms=1.0, connections=3),
            report(1, cpu_seconds=0.1, lag_p99_ms=7.0, connections=2),
        ],
    )
    assert figures(tick, "worker_cpu", "scheduling_delay", "open_connections") == (0.9, 7.0, 5)
    assert tick.sums["worker_cpu_seconds"] == pytest.approx(1.0)


def test_a_tick_without_a_transaction_has_no_latency() -> None:
    tick = taken(begun(0), [report(0)])
    assert (tick.hists, read("tps", tick)) == ({}, 0.0)


def test_a_tick_without_a_report_goes_on() -> None:
    reported = begun(0)
    reported.add([])
    assert reported.take() is None
    tick = taken(reported, [report(0, counters=counters(5), seconds=2.0)])
    assert (tick.sums["completed"], tick.seconds) == (5, 2.0)
    assert reported.take() is None


def test_statements_of_several_workers_are_one() -> None:
    statements = {"point_select": Histogram.of([100]), "commit": Histogram.of([900])}
    reports = [report(0, statements=statements), report(1, statements={"point_select": Histogram.of([300])})]
    tick = taken(begun(0, 1), reports)
    assert tick.named("stmt.") == {"commit": Histogram.of([900]), "point_select": Histogram.of([100, 300])}


def test_fairness_is_that_of_the_last_reports() -> None:
    reported = begun(0, 1)
    for events in ([1.0], [5.0, 7.0]):
        fairness = FairnessStats.of((each, 0.5) for each in events)
        reported.add([report(0, fairness=fairness), report(1)])
    assert (reported.fairness.n, reported.fairness.moments["events_avg"]) == (2, 6.0)
    assert reported.fairness_since_checkpoint.n == 0


def test_a_worker_that_gave_no_last_report_keeps_what_it_had() -> None:
    reported = begun(0, 1)
    taken(reported, [report(0, counters=counters(10)), report(1, counters=counters(20))])
    taken(reported, [report(1, counters=counters(25))])
    assert reported.transactions == 35
    assert reported.of_worker == {
        0: WorkerTotals(transactions=10, cpu_seconds=0.25),
        1: WorkerTotals(transactions=25, cpu_seconds=0.5),
    }


def test_an_open_loop_shows_its_backlog_and_its_service_time() -> None:
    reported = begun(0, 1)
    for _ in range(2):
        tick = taken(
            reported,
            [
                report(0, 9_000, counters=Counters(backlog=3, in_flight=4), service=Histogram.of([2_000])),
                report(1, 8_000, counters=Counters(backlog=5, in_flight=1), service=Histogram.of([1_000])),
            ],
        )
        assert (read("backlog", tick), tick.levels["in_flight"], read("max", tick)) == (8, 5, 9.0)
        assert tick.hist("service") == Histogram.of([2_000, 1_000])
    assert (reported.backlog, reported.in_flight) == (8, 5)


@given(st.lists(st.lists(st.lists(st.integers(1, 10**6), max_size=5), min_size=2, max_size=2), max_size=6))
def test_ticks_add_up_to_what_was_reported(rounds: list[list[list[int]]]) -> None:
    """Each round has the latencies of each of two workers; one transaction each."""
    reported, done, ticks = begun(0, 1), [0, 0], []
    for latencies in rounds:
        done = [before + len(new) for before, new in zip(done, latencies, strict=True)]
        ticks.append(taken(reported, [report(w, *latencies[w], counters=counters(done[w])) for w in (0, 1)]))
    everything = [us for latencies in rounds for worker in latencies for us in worker]
    total = whole(*ticks)
    assert reported.transactions == total.sums.get("completed", 0) == len(everything)
    assert total.hist("response") == Histogram.of(everything)


def test_what_a_silent_worker_did_is_counted_when_it_answers_and_spread_over_its_silence() -> None:
    reported = begun(0, 1)
    first = taken(reported, [report(0, counters=counters(10))])
    assert read("tps", first) == 10
    late = report(1, counters=counters(40), seconds=2.0)
    second = taken(reported, [report(0, counters=counters(20)), late])
    assert (second.seconds, read("tps", second)) == (1.0, 30.0)
    assert whole(second).sums["completed"] == 50
    assert whole(first, second).sums["completed"] == reported.transactions == 60


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_transactions_in_flight_when_figures_begin_again_count_in_the_new_ones(
    flying: int, waiting: int, more: int
) -> None:
    reported = begun(0)
    before = Counters(scheduled=9 + flying + waiting, completed=9, in_flight=flying, backlog=waiting)
    taken(reported, [report(0, counters=before)])
    reported.begin_again()
    after = Counters(
        scheduled=9 + flying + waiting + more, completed=9 + flying, abandoned=waiting, failed=more
    )
    sums = taken(reported, [report(0, counters=after)]).sums
    assert (reported.in_flight, reported.backlog) == (0, 0)
    ends = [sums.get(name, 0) for name in ("completed", "abandoned", "failed")]
    assert ends == [flying, waiting, more]
    assert sums.get("scheduled", 0) == sum(ends)
    assert reported.of_worker[0].transactions == flying
    assert "scheduled" not in taken(reported, [report(0, counters=after)]).sums


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
    reported, account, workers, histograms = begun(0, 1, 2), Account(), 3, 23
    for tick in (1, 2):
        folds.clear()
        account.add(taken(reported, [wide_report(worker, tick) for worker in range(workers)]))
        assert len(folds) == (workers + 1) * histograms
        assert account.total().hist("response").count == 2 * workers * tick
