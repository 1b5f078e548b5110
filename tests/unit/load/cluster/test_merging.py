"""Reports of a host's workers as one: nothing is lost, nothing is rounded."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields, replace

from tests.unit.load.test_messages import REPORT
from tuibench.clock import NS_PER_SECOND
from tuibench.load.cluster.merging import ReportMerger
from tuibench.load.cluster.packing import pack_report, with_sum
from tuibench.load.completion_gaps import CompletionGaps, Gap
from tuibench.load.worker_report import Counters, FairnessStats, WorkerReport
from tuibench.metrics.histogram import Histogram
from tuibench.model.measurements.sample import SlowTransaction
from tuibench.session.totals.report_aggregation import LoadTotals

latencies = st.lists(st.integers(1, 10**7), max_size=20)


@st.composite
def rounds(draw: st.DrawFn) -> list[list[WorkerReport]]:
    """Rounds of some workers, in which some are silent. Counters grow."""
    workers, done = draw(st.integers(1, 4)), [0] * 4
    played = []
    for _ in range(draw(st.integers(1, 4))):
        reports = []
        for worker in range(workers):
            values = draw(latencies)
            done[worker] += len(values)
            if not draw(st.booleans()):
                done[worker] -= len(values)
                continue
            reports.append(
                replace(
                    REPORT,
                    worker=worker,
                    counters=Counters(
                        scheduled=done[worker], completed=done[worker], errors={1213: done[worker]}
                    ),
                    transactions=Histogram.of(values),
                    statements={"select": Histogram.of(values)},
                    by_transaction={},
                    failure="",
                )
            )
        played.append(reports)
    return played


@given(rounds())
def test_the_totals_are_those_of_the_workers_themselves(played: list[list[WorkerReport]]) -> None:
    merger, apart, merged = ReportMerger(7, 0), LoadTotals(), LoadTotals()
    for number, reports in enumerate(played, 1):
        apart.add_reports(reports)
        one = merger.merge(reports, number * NS_PER_SECOND)
        assert (one.worker, one.seconds) == (7, 1.0)
        merged.add_reports([one])
    assert merged.totals == apart.totals
    assert merged.transactions == apart.transactions
    assert {name: each for name, each in merged.statements.items() if each.count} == {
        name: each for name, each in apart.statements.items() if each.count
    }


def test_the_busiest_worker_is_the_hosts() -> None:
    busy = replace(REPORT, worker=1, seconds=2.0, cpu_seconds=1.8, core_seconds=None, lag_p99_ms=3.0)
    idle = replace(REPORT, worker=2, seconds=2.0, cpu_seconds=0.2, core_seconds=0.1, lag_p99_ms=1.0)
    one = ReportMerger(0, 0).merge([busy, idle], 2 * NS_PER_SECOND)
    assert one.core_seconds == 1.8
    assert (one.cpu_seconds, one.lag_p99_ms) == (2.0, 3.0)


def test_the_first_failure_and_refusal_are_reported() -> None:
    merged = ReportMerger(0, 0).merge([replace(REPORT, worker=1, failure=""), REPORT], NS_PER_SECOND)
    assert (merged.failure, merged.failure_hint, merged.failure_exit) == ("no", "do this", 3)


def test_every_field_of_a_report_is_merged_and_packed() -> None:
    """A new field of WorkerReport gets a value here, and a place in the merger and the packing."""
    slow = SlowTransaction(transaction="new_order", response_ms=2.0, service_ms=1.0, statements=())
    whole = replace(
        REPORT,
        seconds=1.0,
        core_seconds=0.25,
        last_refusal="refused",
        idle_connections=3,
        idle_refusal="too many",
        logins=Histogram.of([500]),
        waits=Histogram.of([7]),
        slowest=(slow,),
        gaps=CompletionGaps(NS_PER_SECOND, (Gap(5, NS_PER_SECOND - 7, 9),)),
        events_since=FairnessStats.of([2.0]),
        seconds_since=FairnessStats.of([0.1]),
    )
    defaults = {field.name: field.default for field in fields(WorkerReport)}
    empty: tuple[object, ...] = (0, (), "", {}, Histogram())
    assert [name for name, default in defaults.items() if getattr(whole, name) in (default, *empty)] == []
    merged = ReportMerger(whole.worker, 0).merge([whole], NS_PER_SECOND)
    bare, packed = pack_report(merged)
    assert with_sum(bare, [packed]) == whole
