"""The statements as a table of text."""

from msgspec.structs import replace

from tests.tui.support.statements import REPORT
from tuibench.record.report.statement_text import statements_text


def test_a_line_for_each_statement_with_the_span_before() -> None:
    head, columns, first, commit, own, gap = statements_text(REPORT).splitlines()
    assert head == "5.0 s since preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0"
    assert columns.split()[:4] == ["calls", "total", "avg", "p95"]
    assert first.split()[:2] == ["3,520", "410"]
    assert commit.split()[-8:] == ["–", "–", "10.8", "ms", "22.9", "ms", "digest", "COMMIT"]
    assert own.split()[-4:] == ["–", "–", "client", "commit"]
    assert gap.endswith("are prepared statements")


def test_without_a_change_there_is_no_span_before() -> None:
    text = statements_text(replace(REPORT, change="", before_seconds=0.0))
    assert text.startswith("5.0 s since statements were first requested\n")
    assert "before" not in text


def test_a_statement_cannot_steer_the_terminal() -> None:
    hostile = replace(REPORT.rows[0], text="SELECT \x1b[2J")
    assert "\x1b" not in statements_text(replace(REPORT, rows=(hostile,)))
