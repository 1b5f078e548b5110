"""What a run leaves can be read by HdrHistogram's own tools."""

from hdrh.histogram import HdrHistogram

from tuibench.metrics.histogram import Histogram
from tuibench.record.hdr import encoded


def test_other_tools_can_read_the_encoding() -> None:
    values = [120, 4_700, 4_701, 250_000]
    decoded = HdrHistogram.decode(encoded(Histogram.of(values)))
    assert decoded.get_total_count() == 4
    assert decoded.get_value_at_percentile(50) == Histogram.of(values).percentiles((50,))[0]
