"""A run as Markdown."""

from pathlib import Path

from msgspec.structs import replace

from tests.unit.record.written import written
from tuibench.model.event import Event, EventKind
from tuibench.record.files.loading import load_run
from tuibench.record.run_report import run_markdown


def test_warnings_come_first_and_every_table_is_whole(tmp_path: Path) -> None:
    written(tmp_path / "r1", ended=False)
    text = run_markdown(load_run(tmp_path / "r1"))
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# oltp_read_write on MariaDB 10.11.19",
        "## Changes",
        "## Result",
        "## Analysis",
        "### Queries",
        "### Transactions",
        "### Latency",
        "### Bottleneck",
        "### Advice",
        "## Environment",
        "## Method",
        "## Commands",
    ]
    assert "- cut short: the session ended without a summary" in text
    assert "| 00:02 | 1 | sync_binlog 1 → 0 |" in text
    assert "| transactions | 150 | 50.00 |" in text
    assert "| client | box, on the server's host; tuibench 1.2.3, Python  |" in text
    for block in text.split("\n\n"):
        widths = {line.count("|") for line in block.splitlines() if line.startswith("|")}
        assert len(widths) <= 1
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_a_run_without_a_change_has_no_table_of_them(tmp_path: Path) -> None:
    written(tmp_path / "r1", ticks=1)
    text = run_markdown(load_run(tmp_path / "r1"))
    assert "| at | no. |" not in text
    assert "Nothing was changed during the run." in text


def test_an_effect_that_was_not_measured_is_one_sentence(tmp_path: Path) -> None:
    written(tmp_path / "r1")
    run = load_run(tmp_path / "r1")
    text = "effect of sync_binlog 1 → 0 not measured: the load was paused while it was measured"
    missing = Event(at=3.0, elapsed_seconds=3.0, kind=EventKind.EFFECT, text=text, marker=1, not_measured="…")
    assert f"| 00:03 | 1 | {text} |" in run_markdown(replace(run, events=(*run.events, missing)))
