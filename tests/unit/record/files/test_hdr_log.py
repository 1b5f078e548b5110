"""The log of latencies is read by HdrHistogram's own reader, with the same figures."""

from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from tuibench.errors import RunError
from tuibench.model.histogram import Histogram
from tuibench.record.files import hdr_log

FAST, SLOW = Histogram.of([500, 900, 4_000]), Histogram.of([90_000, 2_000_000])
TEXT = (
    hdr_log.log_header(1_700_000_000.25)
    + hdr_log.log_lines(0.0, 1.0, hdr_log.by_tag(FAST, FAST, {"new order, old": FAST}))
    + hdr_log.log_lines(1.0, 0.5, hdr_log.by_tag(SLOW, Histogram(), {}))
    + hdr_log.log_lines(1.5, 1.0, hdr_log.by_tag(Histogram(), Histogram(), {}))
)


def test_another_reader_finds_the_same_intervals(tmp_path: Path) -> None:
    path = tmp_path / "log.hlog"
    path.write_text(TEXT)
    reader = HistogramLogReader(str(path), HdrHistogram(1, 3_600_000_000, 3))
    found = []
    while (interval := reader.get_next_interval_histogram()) is not None:
        found.append(interval)
    reader.close()
    tags = [interval.get_tag() for interval in found]
    assert tags == [None, "service", "transaction:new_order__old", None, None]
    for interval, ours in zip(found, (FAST, FAST, FAST, SLOW, Histogram()), strict=True):
        assert interval.get_total_count() == ours.count
        if ours.count:
            assert interval.get_value_at_percentile(50) == ours.percentiles((50,))[0]
            assert interval.get_max_value() >= ours.max_us
    assert reader.get_start_time_sec() == 1_700_000_000.25
    assert found[0].get_start_time_stamp() == 1_700_000_000_250
    assert found[3].get_end_time_stamp() == 1_700_000_001_750


def test_what_is_written_is_parsed() -> None:
    lines = [line for each in TEXT.splitlines() if (line := hdr_log.parse_line(each))]
    assert [(line.tag, line.start_seconds, line.seconds) for line in lines] == [
        ("", 0.0, 1.0),
        ("service", 0.0, 1.0),
        ("transaction:new_order__old", 0.0, 1.0),
        ("", 1.0, 0.5),
        ("", 1.5, 1.0),
    ]
    assert [line.histogram().counts for line in lines] == [
        each.counts for each in (FAST, FAST, FAST, SLOW, Histogram())
    ]
    assert lines[3].max_us == 2_000_000


@pytest.mark.parametrize("line", ["", "\n", "#[comment]\n", '"StartTimestamp","Interval_Length"\n'])
def test_comments_are_no_intervals(line: str) -> None:
    assert hdr_log.parse_line(line) is None


@pytest.mark.parametrize(
    "line",
    ["1.0,2.0", "a,b,c,d", "Tag=x", "1e300,1,1,H", "nan,1,1,H", "1,inf,1,H", "1,1,1e300,H", "1,1,-1,H"],
)
def test_a_line_that_is_no_interval_is_named(line: str) -> None:
    with pytest.raises(RunError, match=r"the log, line 7: this is not an interval"):
        hdr_log.parse_line(line, "the log, line 7")
