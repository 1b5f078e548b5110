"""The host screen: each core, who uses them, and what cannot be read."""

from typing import Any

import msgspec

from tests.ticks import changed
from tests.tui.support import script
from tuibench.tui.panels.host import core_bars, core_bars_height, host_sections
from tuibench.tui.panels.plots.cpu_chart import cpu_chart
from tuibench.tui.panels.trend import TrendRow, stack_sections
from tuibench.tui.text.spans import TextLine, line_width, plain_text
from tuibench.tui.view import View, initial_view, next_view


def text(lines: list[TextLine]) -> str:
    return "\n".join(plain_text(line).rstrip() for line in lines)


def with_host(**changes: Any) -> View:
    view = initial_view(script.hello(20))
    assert view.sample is not None
    host = script.host_part(**changes)
    return next_view(view, changed(view.sample, elapsed_seconds=21.0, host=host))


def row(view: View, name: str) -> TrendRow:
    return next(row for section in host_sections(view) for row in section.rows if row.name == name)


def test_every_core_has_its_bar() -> None:
    view = with_host(cpu_by_core=tuple(float(n) for n in range(64)), cores=64)
    lines = core_bars(view, 118, core_bars_height(view, 118))
    assert all(line_width(line) == 118 for line in lines)
    assert "CPU of 64 cores" in text(lines)
    assert core_bars_height(view, 118) == 3 + 8
    eight = with_host()
    assert text(core_bars(eight, 118, core_bars_height(eight, 118))).count(" %") == 1 + 8


def test_a_server_elsewhere_is_named_in_the_title() -> None:
    remote = msgspec.structs.replace(script.SERVER, is_local=False)
    assert "of the client" in text(core_bars(initial_view(script.hello(20, server=remote)), 118, 5))


def test_a_host_that_was_not_measured_says_so() -> None:
    view = initial_view(script.hello(20))
    assert view.sample is not None
    view = next_view(view, script.without(view.sample, "host"))
    assert "not measured in this sample" in text(core_bars(view, 118, 5))
    assert core_bars_height(view, 118) == 1
    assert row(view, "Write")[1:3] == ("–", "no answer")


def test_memory_swap_and_disks_are_shown_with_their_limits() -> None:
    view = with_host()
    assert row(view, "Used")[1:3] == ("9.1 GiB", "of 24 GiB")
    assert row(view, "Swap")[1:3] == ("0 B", "of 2 GiB")
    assert row(view, "a write takes").now == "1.34 ms"
    assert row(with_host(swap_total_bytes=0), "Swap")[1:3] == ("0 B", "no swap")


def test_what_cannot_be_read_is_a_dash_with_a_reason() -> None:
    view = with_host(disk_read_bytes_per_second=None, disk_read_ms=None, cpu_server=None)
    assert row(view, "Read")[1:3] == ("–", "not readable here")
    assert row(view, "a read takes")[1:3] == ("–", "no reads")
    assert row(view, "Server")[1:3] == ("–", "see above")


def test_the_processor_is_stacked_by_who_used_it() -> None:
    view = with_host(cpu_server=50.0, cpu_tuibench=25.0, cpu_total=75.0)
    rows = cpu_chart(view, 7 + 61, 4)
    assert plain_text(rows[0]).lstrip().startswith("100 %")
    assert [plain_text(row)[-1] for row in rows] == [" ", "█", "█", "█"]
    assert [row[-1].role for row in rows[1:]] == ["stack-own", "stack-server", "stack-server"]


def test_both_columns_fit_their_width() -> None:
    for lines in (
        stack_sections(host_sections(with_host())[:2], 37, 11),
        stack_sections(host_sections(with_host())[2:], 57, 11),
    ):
        assert all(line_width(line) in (37, 57) for line in lines)
