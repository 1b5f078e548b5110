"""The server screen: what a figure is made of on each flavour, and why one is missing."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from tests.ticks import changed, server_tick
from tests.tui.support import script
from tuibench.model.measurements.sample import Sample
from tuibench.tui.charts.figures import server as server_figures
from tuibench.tui.charts.figures.figure import FigureRow
from tuibench.tui.charts.figures.server import (
    BINARY_LOG,
    COMMANDS,
    CONNECTIONS,
    GROUP_HEADING,
    INNODB,
    LEFT_TABLES,
    RIGHT_TABLES,
    ROWS,
)
from tuibench.tui.panels.server.server_tables import server_sections, table_row
from tuibench.tui.panels.trend import TrendRow, TrendSection, stack_sections
from tuibench.tui.text.spans import TextLine, line_width, plain_text
from tuibench.tui.view import initial_view, next_view

SAMPLES = script.samples(60)


def text(lines: list[TextLine]) -> str:
    return "\n".join(plain_text(line).rstrip() for line in lines)


def item(name: str) -> FigureRow:
    every = (*COMMANDS, *CONNECTIONS, *server_figures.TABLES, *ROWS, *INNODB, *BINARY_LOG)
    return next(each for each in every if each.name == name)


def with_server(sample: Sample, **changes: Any) -> Sample:
    return changed(sample, server=script.server_part(60, 1_510.0, 64, 1.04, **changes))


def counting(*grown: Mapping[str, int], seconds: float = 1.0) -> list[Sample]:
    """Samples, so many seconds apart, in which counters grew by these numbers."""
    counters: Counter[str] = Counter()
    samples = []
    for number, growth in enumerate(grown, 1):
        counters.update(growth)
        part = server_tick(seconds=seconds, counters=counters, growth=growth)
        samples.append(changed(SAMPLES[0], elapsed_seconds=number * seconds, server=part))
    return samples


@pytest.mark.parametrize(("seconds", "rate"), [(0.5, "300"), (1.0, "150"), (3.0, "50.0")])
def test_a_rate_is_over_the_time_that_passed(seconds: float, rate: str) -> None:
    samples = counting({"Com_select": 100}, {"Com_select": 150}, seconds=seconds)
    assert table_row(item("SELECT"), samples)[:3] == ("SELECT", rate, "250")


def test_a_counter_whose_growth_is_not_known_is_a_gap_and_not_a_rate() -> None:
    samples = counting({"Com_select": 100}, {}, {"Com_select": 10})
    assert list(table_row(item("SELECT"), samples).values) == [100.0, None, 10.0]


def test_one_sample_with_growth_is_enough() -> None:
    assert table_row(item("SELECT"), counting({"Com_select": 150}))[1:3] == ("150", "150")


def test_a_missed_second_is_a_gap() -> None:
    first, silent = counting({"Com_select": 1}, {"Com_select": 8})
    (next_one,) = counting({})
    samples = [first, script.without(silent, "server"), with_server(next_one, growth={})]
    assert table_row(item("SELECT"), samples)[1:3] == ("–", "next sample")
    assert list(table_row(item("SELECT"), samples).values) == [1.0, None, None]


def test_without_an_answer_the_reason_replaces_the_value() -> None:
    silent = script.without(SAMPLES[-1], "server")
    assert table_row(item("SELECT"), [silent])[1:3] == ("–", "no answer")
    assert table_row(item("Threads running"), [silent])[1:3] == ("–", "no answer")
    assert table_row(item("SELECT"), [])[1:3] == ("–", "no answer")


def test_what_a_flavour_does_not_count_says_so() -> None:
    assert table_row(item("Log fsyncs"), SAMPLES)[1:3] == ("–", "part of data fsyncs")


@pytest.mark.parametrize(
    ("counters", "written", "forced"),
    [
        (
            {"Binlog_bytes_written": 2048, "Binlog_group_commits": 7},
            ("Written", "2 KiB/s"),
            ("group commits", "7.0"),
        ),
        (
            {"performance_schema.binlog_bytes": 2048, "performance_schema.binlog_syncs": 7},
            ("Written", "2 KiB/s"),
            ("syncs", "7.0"),
        ),
        ({}, ("Written", "–"), ("syncs", "–")),
    ],
    ids=["mariadb", "mysql", "none"],
)
def test_the_binary_log_of_both_flavours(
    counters: dict[str, int], written: tuple[str, str], forced: tuple[str, str]
) -> None:
    samples = counting(dict.fromkeys(counters, 512), counters)
    assert table_row(item("Written"), samples)[:2] == written
    assert table_row(item("syncs"), samples)[:2] == forced


def test_a_missing_privilege_is_named() -> None:
    refused = {"innodb_metrics.history_list_length": "needs the PROCESS privilege"}
    sample = with_server(SAMPLES[-1], gauges={}, unavailable=refused)
    assert table_row(item("History list"), [sample])[1:3] == ("–", "needs the PROCESS privilege")


@pytest.mark.parametrize(
    ("gauges", "counters", "shown"),
    [
        (
            {"Innodb_checkpoint_age": 1 << 20, "Innodb_checkpoint_max_age": 1 << 26},
            {},
            ("1 MiB", "of 64 MiB"),
        ),
        (
            {"Innodb_redo_log_checkpoint_lsn": 1000, "Innodb_redo_log_capacity_resized": 1 << 27},
            {"Innodb_redo_log_current_lsn": 1000 + (1 << 20)},
            ("1 MiB", "of 128 MiB"),
        ),
        ({}, {}, ("–", "not reported here")),
    ],
)
def test_the_checkpoint_age_of_both_flavours(
    gauges: dict[str, int], counters: dict[str, int], shown: tuple[str, str]
) -> None:
    sample = with_server(SAMPLES[-1], gauges=gauges, counters=counters)
    assert table_row(item("checkpoint age"), [sample])[1:3] == shown


def test_aborted_connections_stand_out_once_there_are_new_ones() -> None:
    calm = counting({"Aborted_clients": 3}, {"Aborted_clients": 0})
    loud = [*calm, *counting({"Aborted_clients": 1})]
    assert not table_row(item("Aborted clients"), calm).alarm
    assert table_row(item("Aborted clients"), loud).alarm


@pytest.mark.parametrize(("width", "height"), [(37, 20), (57, 29), (97, 50)])
@pytest.mark.parametrize("side", [LEFT_TABLES, RIGHT_TABLES], ids=["left", "right"])
def test_every_figure_has_its_row_at_every_size(
    side: tuple[tuple[str, tuple[FigureRow, ...]], ...], width: int, height: int
) -> None:
    lines = stack_sections(server_sections(initial_view(script.hello(60)), side), width, height)
    assert len(lines) <= height
    assert all(line_width(line) == width for line in lines)
    shown = text(lines)
    for title, items in side:
        for each in items if title != GROUP_HEADING else ():
            names = (each.name, getattr(each, "called", "") or each.name)
            assert any(name in shown for name in names) or getattr(each, "rare", False), each.name


def test_a_row_is_name_trend_now_and_total() -> None:
    rows = [TrendRow("Questions", "48,214", "6.12 M", [0.0, 10.0, None, 20.0])]
    (heading, line) = text(stack_sections([TrendSection("COMMANDS", rows, "total")], 60, 2)).splitlines()
    assert heading.split() == ["COMMANDS", "now", "total"]
    assert line.split() == ["Questions", "▁▄", "▇", "48,214", "6.12", "M"]


def test_with_room_to_spare_a_trend_has_two_lines_and_a_blank_before_its_value() -> None:
    rows = [TrendRow("Redo written", "14.3 MiB/s", "1.66 GiB", [0.0, 5.0, 20.0, 20.0])]
    narrow = text(stack_sections([TrendSection("INNODB", rows)], 97, 2)).splitlines()
    high = text(stack_sections([TrendSection("INNODB", rows)], 97, 3)).splitlines()
    assert narrow[1].endswith("▁▂▇▇ 14.3 MiB/s    1.66 GiB")
    assert high[1].endswith("▆▆")
    assert high[2].endswith("▁▄██ 14.3 MiB/s    1.66 GiB")
    assert high[1].index("▆") == high[2].index("█")


def test_two_columns_have_trends_of_as_many_lines_and_none_without_a_trend() -> None:
    short = [TrendSection("LOCKS", [TrendRow("Waits", "1", "", [1.0, 2.0])])]
    long = [TrendSection("INNODB", [TrendRow(f"row {number}", "1", "", [1.0]) for number in range(9)])]
    assert len(stack_sections(short, 97, 12)) == 3
    assert len(stack_sections(short, 97, 12, beside=long)) == 2
    assert len(stack_sections(short, 97, 19, beside=long)) == 3
    assert len(stack_sections(short, 37, 12)) == 2


def test_a_trend_gives_way_to_the_name_where_there_is_no_room() -> None:
    rows = [TrendRow("Threads running", "61", "of 2,000", [1.0] * 60)]
    line = text(stack_sections([TrendSection("C", rows)], 37, 2)).splitlines()[1]
    assert line.split() == ["Threads", "running", "61", "of", "2,000"]


def test_the_queues_of_a_group_are_listed_on_a_member_only() -> None:
    view = initial_view(script.hello(60))
    assert GROUP_HEADING not in [section.title for section in server_sections(view, LEFT_TABLES)]
    gauges = {"performance_schema.group_queue": 3, "performance_schema.group_applier_queue": 41}
    view = next_view(view, with_server(SAMPLES[-1], gauges=gauges))
    queues = next(each for each in server_sections(view, LEFT_TABLES) if each.title == GROUP_HEADING)
    assert [(row.name, row.now) for row in queues.rows] == [("Certification", "3"), ("Applier", "41")]
