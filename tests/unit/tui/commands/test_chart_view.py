"""Cursor, zoom and comparison: what the keys of the charts make of a view."""

import msgspec

from tests.ticks import changed
from tests.tui.support import script
from tuibench.model.event import Event, EventKind
from tuibench.tui.chart_columns import change_markers, chart_points, view_grid
from tuibench.tui.charts.time_grid import ZOOMS
from tuibench.tui.commands.chart_view import (
    ViewChange,
    clear_marks,
    cursor_to_newest,
    cursor_to_oldest,
    mark_span_end,
    move_cursor,
    point_cursor,
    zoom_by,
)
from tuibench.tui.panels.bars.header import tab_line
from tuibench.tui.panels.effect import comparison_card
from tuibench.tui.panels.events import events_panel
from tuibench.tui.panels.load.measures import P95, TPS
from tuibench.tui.panels.plots.time_chart import AXIS_WIDTH, time_axis_lines, time_chart
from tuibench.tui.text.spans import TextLine, plain_text
from tuibench.tui.view import View, initial_view, next_view

COLUMNS = 50


def view_of(length: int = 60, *events: Event) -> View:
    return initial_view(script.hello(length, events=events))


def text(lines: list[TextLine]) -> str:
    return "\n".join(plain_text(line).rstrip() for line in lines)


def looked(view: View, *looks: ViewChange) -> View:
    for look in looks:
        view = look(view, COLUMNS)
    return view


def long_run(seconds: int) -> View:
    view, sample = view_of(0), script.samples(1)[0]
    for number in range(1, seconds + 1):
        view = next_view(view, changed(sample, elapsed_seconds=float(number)))
    return view


def test_the_cursor_appears_at_the_newest_and_moves_by_columns() -> None:
    view = looked(view_of(), move_cursor(-1))
    assert view.chart_state.cursor == (59.0, 60.0)
    assert looked(view, move_cursor(-1), move_cursor(-10)).chart_state.cursor == (48.0, 49.0)
    assert looked(view, move_cursor(5)).chart_state.cursor == (59.0, 60.0)
    assert looked(view, cursor_to_oldest).chart_state.cursor == (10.0, 11.0)
    assert looked(view, cursor_to_oldest, cursor_to_newest).chart_state.cursor == (59.0, 60.0)
    assert looked(view, clear_marks).chart_state.cursor is None


def test_the_cursor_stays_with_its_moment_while_time_goes_on() -> None:
    view = looked(view_of(60), move_cursor(-1))
    later = next_view(view, script.samples(61)[-1])
    assert later.chart_state.cursor == (59.0, 60.0)
    assert looked(later, move_cursor(-1)).chart_state.cursor == (58.0, 59.0)


def test_before_the_run_and_without_charts_there_is_nothing_to_point_at() -> None:
    assert looked(view_of(0), move_cursor(-1)).chart_state.cursor is None
    assert move_cursor(-1)(view_of(), 0).chart_state.cursor is None
    assert mark_span_end(view_of(), 0).chart_state.cursor is None


def test_the_cursor_does_not_leave_the_run() -> None:
    assert point_cursor(view_of(10), COLUMNS, 3).chart_state.cursor == (0.0, 1.0)


def test_the_cursor_reads_every_chart_at_its_moment() -> None:
    view = looked(view_of(60), move_cursor(-1), move_cursor(-1))
    point = chart_points(view, COLUMNS)[-2]
    assert point is not None
    for measure in (TPS, P95):
        rule = plain_text(time_chart(measure, view, AXIS_WIDTH + COLUMNS, 4, numbered=True)[0])
        assert f" {' '.join(measure.big(measure.value(point))).rstrip()} ┃" in rule
    assert "00:59" in text(time_axis_lines(view, AXIS_WIDTH + COLUMNS, 1, gutter=AXIS_WIDTH))


def test_a_moment_that_was_not_measured_says_so() -> None:
    view = looked(view_of(60), *[move_cursor(-1)] * 23)
    assert view.chart_state.cursor == (37.0, 38.0)
    assert "┃ – not measured " in text(time_chart(TPS, view, AXIS_WIDTH + COLUMNS, 4, numbered=True))


def test_the_cursor_points_out_the_event_of_its_moment() -> None:
    told = [
        Event(at=0.0, elapsed_seconds=at, kind=EventKind.MARK, text=f"mark {n}", marker=n)
        for n, at in enumerate((30.5, 50.2, 58.9), 1)
    ]
    view = looked(view_of(60, *told), *[move_cursor(-1)] * 10)
    assert view.chart_state.cursor == (50.0, 51.0)
    lines = events_panel(view, 40, 2)
    assert text(lines).splitlines() == ["2   00:50  mark 2", "1   00:30  mark 1"]
    assert [span.text for span in lines[0] if span.role == "reading"] == [" 00:50 "]


def test_zooming_stops_at_both_ends() -> None:
    assert looked(view_of(), zoom_by(-1)).chart_state.zoom == 0
    assert looked(view_of(), *[zoom_by(1)] * 9).chart_state.zoomed.label == "all"


def test_a_zoom_shows_at_least_its_time() -> None:
    view = long_run(4000)
    for zoom in ZOOMS[1:]:
        view = looked(view, zoom_by(1))
        seconds = sum(point.seconds for point in chart_points(view, COLUMNS) if point is not None)
        assert seconds >= min(zoom.seconds - view_grid(view, COLUMNS).column_seconds, 4000), zoom


def test_columns_keep_their_ticks_while_the_chart_moves() -> None:
    view = looked(view_of(60), zoom_by(1))
    assert view_grid(view, COLUMNS).slots == 6
    before = chart_points(view, COLUMNS)
    later = chart_points(next_view(view, script.samples(61)[-1]), COLUMNS)
    assert later[:-1] == before[1:]


def test_a_change_is_in_the_column_of_its_time() -> None:
    told = Event(at=0.0, elapsed_seconds=30.5, kind=EventKind.MARK, text="", marker=1)
    view = looked(view_of(60, told), zoom_by(1))
    (column,) = change_markers(view, COLUMNS)
    start, end = view_grid(view, COLUMNS).stretch_of(column)
    assert start < 30.5 <= end


def spans_of(view: View) -> View:
    """A from second 49 to 56, B from 71 to 80: threads are the same, durability is off in B."""
    for column in (15, 21, 37, 45):
        view = mark_span_end(point_cursor(view, COLUMNS, column), COLUMNS)
    return view


def test_four_marks_compare_two_spans() -> None:
    view = spans_of(initial_view(script.hello()))
    assert view.chart_state.spans == ((49.0, 56.0), (71.0, 80.0))
    found = view.chart_state.difference
    assert found is not None
    assert found.tps is not None
    assert found.tps.percent is not None
    assert 45 < found.tps.percent < 65
    assert found.tps.differs
    assert found.p95 is not None
    assert found.p95.delta < 0
    assert text(comparison_card(view, 60, 5)).splitlines()[0] == "A 00:49–00:56  →  B 01:11–01:20"
    assert [line.split()[0] for line in text(comparison_card(view, 60, 5)).splitlines()[1:4]] == [
        "TPS",
        "QPS",
        "p95",
    ]
    assert "├──A──┤" in text(time_axis_lines(view, AXIS_WIDTH + COLUMNS, 1, gutter=AXIS_WIDTH))


def test_the_comparison_fits_two_lines() -> None:
    brief = text(comparison_card(spans_of(initial_view(script.hello())), 78, 2)).splitlines()
    assert len(brief) == 2
    assert "TPS higher: +" in brief[0]
    assert "p95 lower: −" in brief[1]


def test_each_mark_says_what_is_asked_for_next() -> None:
    view = mark_span_end(initial_view(script.hello()), COLUMNS)
    asked = []
    for _ in range(4):
        assert view.note is not None
        asked.append(view.note.text.split("marks the ")[1].split(",")[0])
        view = mark_span_end(view, COLUMNS)
    assert asked == [
        "first end of span A",
        "other end of span A",
        "first end of span B",
        "other end of span B",
    ]


def test_spans_that_are_too_short_are_not_compared() -> None:
    view = initial_view(script.hello())
    for column in (40, 41, 45, 49):
        view = mark_span_end(point_cursor(view, COLUMNS, column), COLUMNS)
    assert "span A has 2 measured points, 4 are needed" in text(comparison_card(view, 60, 5))


def test_a_fifth_mark_starts_over() -> None:
    view = mark_span_end(spans_of(initial_view(script.hello())), COLUMNS)
    assert (view.chart_state.marks, view.chart_state.difference) == ((), None)


def test_a_frozen_chart_is_shown_in_the_tab_line() -> None:
    view = msgspec.structs.replace(view_of(60), picture_of=90.0)
    assert (
        plain_text(tab_line(lambda _: (), "live", view, 120, 1)[0])
        .strip()
        .startswith("‖ PICTURE FROZEN AT 01:00")
    )
    assert "FROZEN 01:00 (v)" in plain_text(tab_line(lambda _: (), "live", view, 78, 1)[0])
