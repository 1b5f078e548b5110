"""What a run leaves can be read by HdrHistogram's own tools."""

import pytest
from hdrh.histogram import HdrHistogram

from tuibench.metrics.histogram import Histogram
from tuibench.record.hdr import HIGHEST_US, encoded


def test_other_tools_can_read_the_encoding() -> None:
    values = [120, 4_700, 4_701, 250_000]
    decoded = HdrHistogram.decode(encoded(Histogram.of(values)))
    assert decoded.get_total_count() == 4
    assert decoded.get_value_at_percentile(50) == Histogram.of(values).percentiles((50,))[0]


@pytest.mark.parametrize("values", [[], [0], [1], [HIGHEST_US], [HIGHEST_US * 3], [0, 5_000_000_000]])
def test_no_latency_is_lost_at_the_ends(values: list[int]) -> None:
    """An hour and more is kept as an hour."""
    decoded = HdrHistogram.decode(encoded(Histogram.of(values)))
    assert decoded.get_total_count() == len(values)
