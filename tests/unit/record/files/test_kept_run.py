"""A real run that is kept for every version to read: 40 s of oltp_write_only, durability relaxed midway."""

from tests.paths import DATA
from tuibench.model.event import EventKind
from tuibench.record.files.loading import load_run
from tuibench.record.files.run import Run
from tuibench.record.report.sysbench_replay import csv_text, sysbench_text
from tuibench.record.run_report import run_markdown
from tuibench.record.sysbench_report import summary_text
from tuibench.session.replay import ReplayClient

KEPT = DATA / "recorded-run"
MOST_BYTES = 200_000


def kept() -> Run:
    return load_run(KEPT)


def test_it_is_small_and_whole() -> None:
    assert sum(file.stat().st_size for file in KEPT.iterdir()) <= MOST_BYTES
    run = kept()
    assert (len(run.measured), run.unreadable_lines, run.cut_short) == (40, 0, False)
    assert run.environment is not None
    assert run.environment.variables["innodb_flush_log_at_trx_commit"] == "1"
    assert {event.kind for event in run.events} >= {EventKind.SETTING, EventKind.EFFECT, EventKind.RESTORE}


def test_its_report_is_printed_again() -> None:
    run = kept()
    text = "".join(sysbench_text(run))
    head, lines = text.split("Threads started!\n\n")
    assert "Running the test with following options:\nNumber of threads: 8\n" in head
    assert lines.startswith("[ 1s ] thds: 8 tps: ")
    assert lines.count("\n[ ") == 39
    assert text.endswith(summary_text(run.summary))
    assert "".join(csv_text(run)).count("\n") == 41
    assert "preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0" in run_markdown(run)


def test_its_latencies_add_up_to_the_summary() -> None:
    run = kept()
    counts: dict[int, int] = {}
    for line in run.histograms():
        for bucket, times in line.histogram().counts.items():
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
