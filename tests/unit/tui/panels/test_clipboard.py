"""What is copied: the figures of now, or of the cursor's column."""

from tests.tui.support import script
from tuibench.tui.commands.chart_view import move_cursor
from tuibench.tui.panels.clipboard import figures_text
from tuibench.tui.text.drawing import clock_axis_text
from tuibench.tui.view import initial_view
from tuibench.units import local_time


def test_figures_are_copied_with_their_context() -> None:
    text = figures_text(initial_view(script.hello()))
    assert text.startswith(
        "MariaDB 10.11.19, oltp_read_write, 4 × 100,000 rows, 64 threads, 01:24 into the run"
    )
    assert "TPS 2,4" in text
    assert "fsyncs/trx 0.020" in text
    assert "innodb_flush_log_at_trx_commit=0, sync_binlog=0 (at risk)" in text
    assert "effect of 3: preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0\n" in text
    assert "\n  TPS: 1,560 → 2,412, higher: +55 % (49..61 %)" in text


def test_with_a_cursor_they_are_those_of_its_column() -> None:
    view = initial_view(script.hello())
    for _ in range(40):
        view = move_cursor(-1)(view, 60)
    assert "00:45 into the run" in figures_text(view)


def test_before_the_first_sample_there_is_nothing() -> None:
    assert figures_text(initial_view(script.hello(0))) == ""


def test_the_clock_axis_is_labelled_at_round_times() -> None:
    text = clock_axis_text(60, 1.0, script.START + 7, local_time)
    labels = text.split()
    assert len(labels) >= 3
    assert all(label.endswith(("0", "5")) for label in labels)
    assert labels == sorted(labels)
    assert len(text) == 60
