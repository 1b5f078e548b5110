"""What a run leaves can be read by HdrHistogram's own tools, and by us."""

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from tuibench.errors import RunError
from tuibench.model.histogram import Histogram, bucket_upper_bound
from tuibench.record.files.hdr_log import HIGHEST_US, decode_histogram, encode_histogram

LATENCIES = st.lists(st.integers(0, HIGHEST_US), max_size=50)


@given(LATENCIES)
def test_other_tools_can_read_the_encoding(values: list[int]) -> None:
    ours, theirs = Histogram.of(values), HdrHistogram.decode(encode_histogram(Histogram.of(values)))
    assert theirs.get_total_count() == len(values)
    read = {
        item.value_iterated_to: item.count_at_value_iterated_to for item in theirs.get_recorded_iterator()
    }
    assert read == {bucket_upper_bound(bucket): times for bucket, times in ours.counts.items()}


@given(LATENCIES)
def test_we_can_read_what_other_tools_wrote(values: list[int]) -> None:
    theirs = HdrHistogram(1, HIGHEST_US, 3)
    for value in values:
        theirs.record_value(value)
    assert decode_histogram(theirs.encode().decode()).counts == Histogram.of(values).counts


def test_large_counts_are_kept() -> None:
    many = Histogram({3_000: 2**40, 7: 300}, 2**40 + 300)
    assert decode_histogram(encode_histogram(many)).counts == many.counts
    assert HdrHistogram.decode(encode_histogram(many)).get_total_count() == many.count


@pytest.mark.parametrize("values", [[], [0], [1], [HIGHEST_US], [HIGHEST_US * 3], [0, 5_000_000_000]])
def test_no_latency_is_lost_at_the_ends(values: list[int]) -> None:
    """An hour and more is kept as an hour."""
    theirs = HdrHistogram.decode(encode_histogram(Histogram.of(values)))
    assert theirs.get_total_count() == len(values)


def test_sum_and_ends_come_from_whoever_knows_them() -> None:
    exact = Histogram.of([4_701, 250_001])
    text = encode_histogram(exact)
    assert decode_histogram(text, sum_us=exact.sum_us, min_us=exact.min_us, max_us=exact.max_us) == exact
    assert decode_histogram(text).max_us == bucket_upper_bound(max(exact.counts))


@pytest.mark.parametrize("text", ["", "HISTFAAA", "no base64!", encode_histogram(Histogram.of([5]))[:-8]])
def test_what_is_no_histogram_is_said(text: str) -> None:
    with pytest.raises(RunError, match="not a histogram"):
        decode_histogram(text)
