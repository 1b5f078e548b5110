"""A real run that is kept for every version to read: 40 s of oltp_write_only, durability relaxed midway."""

from pathlib import Path

from tuibench.model.event import EventKind
from tuibench.record.markdown import markdown
from tuibench.record.run import Run, load
from tuibench.record.text import summary_text
from tuibench.record.transcript import csv_text, sysbench_text
from tuibench.session.replay import ReplayClient

KEPT = Path(__file__).parents[2] / "data" / "recorded-run"
MOST_BYTES = 200_000


def kept() -> Run:
    return load(KEPT)


def test_it_is_small_and_whole() -> None:
    assert sum(file.stat().st_size for file in KEPT.iterdir()) <= MOST_BYTES
    run = kept()
    assert (len(run.measured), run.spoilt_lines, run.cut_short) == (40, 0, False)
    assert run.environment is not None
    assert run.environment.variables["innodb_flush_log_at_trx_commit"] == "1"
    assert {event.kind for event in run.events} >= {EventKind.SETTING, EventKind.EFFECT, EventKind.RESTORE}


def test_its_report_is_told_anew() -> None:
    run = kept()
    text = "".join(sysbench_text(run))
    assert text.startswith("[ 1s ] thds: 8 tps: ")
    assert text.count("\n[ ") == 39
    assert text.endswith(summary_text(run.summary))
    assert "".join(csv_text(run)).count("\n") == 41
    assert "preset unsafe: 1·1 → 0·0" in markdown(run)


def test_its_latencies_add_up_to_the_summary() -> None:
    run = kept()
    counts: dict[int, int] = {}
    for line in run.histograms():
        for bucket, times in line.histogram.counts.items():
            counts[bucket] = counts.get(bucket, 0) + times
    assert counts == run.latencies().counts


def test_what_held_is_known_at_every_time() -> None:
    run = kept()
    values = [{each.name: each.value for each in told.status.settings}["sync_binlog"] for told in run.states]
    assert list(dict.fromkeys(values)) == ["1", "0"]
    assert values[-1] == "1"


def test_it_can_be_replayed() -> None:
    client = ReplayClient(kept())
    assert client.hello.status.threads == 8
    assert client.hello.data_set == "4 × 100,000 rows"
