"""What a run printed comes out of its record again, byte for byte; another HDR reader finds its figures."""

import gzip
import json
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from tests.integration.support.commands import Finished, tuibench
from tuibench.base import paths
from tuibench.model.tick import rank_of
from tuibench.record.reader import load_run
from tuibench.servers.server import PrivateServer

HOW = (
    ("--histogram=on", "--percentile=99,50", "--interval=0.5", "--report-interval=1"),
    ("--rate=150", "--report-checkpoints=1", "--warmup-time=0.5", "--interval=0.5", "--report-interval=0.5"),
)
"""Options that change what is printed."""


@pytest.mark.parametrize("how", HOW, ids=["closed", "open"])
def test_a_report_is_what_the_run_printed(
    any_tables: PrivateServer, tmp_path: Path, how: tuple[str, ...]
) -> None:
    ended = tuibench(
        "run",
        "oltp_read_write",
        "--tables=2",
        "--table-size=500",
        "--threads=3",
        "--time=2",
        f"--csv={tmp_path}/run.csv",
        f"--json={tmp_path}/run.json",
        *how,
        target=any_tables.target,
    )
    assert ended.code == 0, ended.err
    report = reported(tmp_path)
    assert report.out == ended.out
    for name in ("csv", "json"):
        assert (tmp_path / f"report.{name}").read_text() == (tmp_path / f"run.{name}").read_text()
    (record,) = paths.runs_dir().iterdir()
    log_adds_up_to_the_summary(record)
    environment_is_known(record, any_tables)


def reported(folder: Path) -> Finished:
    """All forms of the newest run; no server is named."""
    report = tuibench(
        "report", "latest", "--sysbench", f"--csv={folder}/report.csv", f"--json={folder}/report.json"
    )
    assert report.code == 0, report.err
    return report


def log_adds_up_to_the_summary(record: Path) -> None:
    """Merged by another reader, the log has the percentiles that the summary tells."""
    whole = HdrHistogram(1, 3_600_000_000, 3)
    reader = HistogramLogReader(str(record / "histograms.hlog"), HdrHistogram(1, 3_600_000_000, 3))
    while (interval := reader.get_next_interval_histogram()) is not None:
        if interval.get_tag() is None:
            whole.add(interval)
    reader.close()
    latency = load_run(record).summary.latency_ms
    assert latency is not None
    assert whole.get_total_count() == latency.count
    told = {50: latency.p50, 95: latency.p95, 99: latency.p99}
    # The package rounds the rank where HdrHistogram takes the ceiling: it gets whole ranks. It reports the
    # upper end of a bucket; the summary no percentile above the maximum, which is in the highest bucket.
    shares = {p: 100 * rank_of(p, latency.count) / latency.count for p in told}
    found = {p: min(whole.get_value_at_percentile(share) / 1e3, latency.max) for p, share in shares.items()}
    assert found == pytest.approx(told, abs=1e-9)
    assert whole.values_are_equivalent(whole.get_max_value(), round(latency.max * 1e3))


def environment_is_known(record: Path, server: PrivateServer) -> None:
    seen = json.loads((record / "environment.json").read_bytes())
    assert seen["location"] == "local"
    assert 0 < seen["round_trip"]["min_ms"] <= seen["round_trip"]["median_ms"]
    assert {"innodb_flush_log_at_trx_commit", "sync_binlog", "version"} <= seen["variables"].keys()
    assert seen["disk"]["file_system"]
    assert seen["gaps"] == []
    for file in record.iterdir():
        data = file.read_bytes()
        text = gzip.decompress(data) if file.suffix == ".gz" else data
        assert server.target.password.encode() not in text
