"""Packed histograms and their sums are exact, however many and however wide."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.unit.load.test_messages import REPORT
from tuibench.load.cluster import packing
from tuibench.load.cluster.packing import PackedHistogram, pack, pack_report, sum_histograms, with_sum
from tuibench.model.histogram import Histogram, merge_histograms

latencies = st.lists(st.integers(0, 2**40), max_size=60)
shapes = st.lists(latencies.map(Histogram.of), max_size=6)


@given(shapes)
def test_the_sum_is_that_of_the_histograms_themselves(histograms: list[Histogram]) -> None:
    carried = [
        msgspec.msgpack.decode(msgspec.msgpack.encode(pack(each)), type=PackedHistogram)
        for each in histograms
    ]
    assert sum_histograms(carried) == merge_histograms(histograms)


@given(shapes)
def test_sums_beyond_a_lane_are_exact_too(histograms: list[Histogram]) -> None:
    """Counts near the limit: lanes are emptied before one could overflow."""
    scaled = [
        replace(
            each,
            counts={bucket: times * 2**25 for bucket, times in each.counts.items()},
            count=each.count * 2**25,
        )
        for each in histograms
    ]
    assert sum_histograms(map(pack, scaled)) == merge_histograms(scaled)


def test_a_report_is_whole_again_when_its_histograms_are_added() -> None:
    bare, packed = pack_report(REPORT)
    assert bare.transactions == Histogram()
    assert bare.counters == REPORT.counters
    assert packed.p95_us == REPORT.transactions.percentiles((95.0,))[0]
    assert with_sum(bare, [packed]) == REPORT
    twice = with_sum(bare, [packed, packed])
    assert twice.statements == {"point_select": Histogram.of([90, 90])}
    assert twice.by_transaction == {"new_order": Histogram.of([90, 90, 110, 110])}


def test_a_report_without_transactions_has_no_p95() -> None:
    _, packed = pack_report(replace(REPORT, transactions=Histogram()))
    assert packed.p95_us is None
    assert packing.sum_histograms([packed.transactions]) == Histogram()
