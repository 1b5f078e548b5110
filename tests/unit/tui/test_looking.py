"""Cursor, zoom and comparison: what the keys of the charts make of a view."""

import msgspec
import pytest

from tests.tui import script
from tuibench.model.event import Event, EventKind
from tuibench.tui.columns import grid_of, markers, window
from tuibench.tui.grid import ZOOMS
from tuibench.tui.looking import ViewChange, cleared, marked, moved, newest, oldest, pointed, zoomed
from tuibench.tui.panels.difference import card
from tuibench.tui.panels.events import events
from tuibench.tui.panels.measures import P95, TPS
from tuibench.tui.panels.plot import AXIS_WIDTH, plot, time_axis
from tuibench.tui.panels.tabs import tab_line
from tuibench.tui.spans import Line, plain
from tuibench.tui.view import View, after, begin

COLUMNS = 50


def view_of(length: int = 60, *events: Event) -> View:
    return begin(script.hello(length, events=events))


def text(lines: list[Line]) -> str:
    return "\n".join(plain(line).rstrip() for line in lines)


def looked(view: View, *looks: ViewChange) -> View:
    for look in looks:
        view = look(view, COLUMNS)
    return view


def long_run(seconds: int) -> View:
    view, sample = view_of(0), script.samples(1)[0]
    for number in range(1, seconds + 1):
        view = after(view, msgspec.structs.replace(sample, elapsed_seconds=float(number)))
    return view


def test_the_cursor_appears_at_the_newest_and_moves_by_columns() -> None:
    view = looked(view_of(), moved(-1))
    assert view.lens.cursor == (59.0, 60.0)
    assert looked(view, moved(-1), moved(-10)).lens.cursor == (48.0, 49.0)
    assert looked(view, moved(5)).lens.cursor == (59.0, 60.0)
    assert looked(view, oldest).lens.cursor == (10.0, 11.0)
    assert looked(view, oldest, newest).lens.cursor == (59.0, 60.0)
    assert looked(view, cleared).lens.cursor is None


def test_the_cursor_stays_with_its_moment_while_time_goes_on() -> None:
    view = looked(view_of(60), moved(-1))
    later = after(view, script.samples(61)[-1])
    assert later.lens.cursor == (59.0, 60.0)
    assert looked(later, moved(-1)).lens.cursor == (58.0, 59.0)


def test_before_the_run_and_without_charts_there_is_nothing_to_point_at() -> None:
    assert looked(view_of(0), moved(-1)).lens.cursor is None
    assert moved(-1)(view_of(), 0).lens.cursor is None
    assert marked(view_of(), 0).lens.cursor is None


def test_the_cursor_does_not_leave_the_run() -> None:
    assert pointed(view_of(10), COLUMNS, 3).lens.cursor == (0.0, 1.0)


def test_the_cursor_reads_every_chart_at_its_moment() -> None:
    view = looked(view_of(60), moved(-1), moved(-1))
    point = window(view, COLUMNS)[-2]
    assert point is not None
    for measure in (TPS, P95):
        rule = plain(plot(measure, view, AXIS_WIDTH + COLUMNS, 4, numbered=True)[0])
        assert f" {' '.join(measure.big(measure.value(point))).rstrip()} ┃" in rule
    assert "00:59" in text(time_axis(view, AXIS_WIDTH + COLUMNS, 1, gutter=AXIS_WIDTH))


def test_a_moment_that_was_not_measured_says_so() -> None:
    view = looked(view_of(60), *[moved(-1)] * 23)
    assert view.lens.cursor == (37.0, 38.0)
    assert "┃ – not measured " in text(plot(TPS, view, AXIS_WIDTH + COLUMNS, 4, numbered=True))


def test_the_cursor_points_out_the_event_of_its_moment() -> None:
    told = [
        Event(at=0.0, elapsed_seconds=at, kind=EventKind.MARK, text=f"mark {n}", marker=n)
        for n, at in enumerate((30.5, 50.2, 58.9), 1)
    ]
    view = looked(view_of(60, *told), *[moved(-1)] * 10)
    assert view.lens.cursor == (50.0, 51.0)
    lines = events(view, 40, 2)
    assert text(lines).splitlines() == ["2   00:50  mark 2", "1   00:30  mark 1"]
    assert [span.text for span in lines[0] if span.role == "reading"] == [" 00:50 "]


def test_zooming_stops_at_both_ends() -> None:
    assert looked(view_of(), zoomed(-1)).lens.zoom == 0
    assert looked(view_of(), *[zoomed(1)] * 9).lens.zoomed.label == "all"


@pytest.mark.parametrize("zoom", range(1, len(ZOOMS)))
def test_a_zoom_shows_at_least_its_time(zoom: int) -> None:
    view = looked(long_run(4000), *[zoomed(1)] * zoom)
    shown = [point for point in window(view, COLUMNS) if point is not None]
    seconds = sum(point.seconds for point in shown)
    assert seconds >= min(ZOOMS[zoom].seconds - grid_of(view, COLUMNS).column_seconds, 4000)


def test_columns_keep_their_ticks_while_the_chart_moves() -> None:
    view = looked(view_of(60), zoomed(1))
    assert grid_of(view, COLUMNS).slots == 6
    before = window(view, COLUMNS)
    later = window(after(view, script.samples(61)[-1]), COLUMNS)
    assert later[:-1] == before[1:]


def test_a_change_stands_in_the_column_that_holds_its_time() -> None:
    told = Event(at=0.0, elapsed_seconds=30.5, kind=EventKind.MARK, text="", marker=1)
    view = looked(view_of(60, told), zoomed(1))
    (column,) = markers(view, COLUMNS)
    start, end = grid_of(view, COLUMNS).stretch_of(column)
    assert start < 30.5 <= end


def spans_of(view: View) -> View:
    """A from second 49 to 56, B from 71 to 80: threads are the same, durability is off in B."""
    for column in (15, 21, 37, 45):
        view = marked(pointed(view, COLUMNS, column), COLUMNS)
    return view


def test_four_marks_compare_two_spans() -> None:
    view = spans_of(begin(script.hello()))
    assert view.lens.spans == ((49.0, 56.0), (71.0, 80.0))
    found = view.lens.difference
    assert found is not None
    assert found.tps is not None
    assert found.tps.percent is not None
    assert 45 < found.tps.percent < 65
    assert found.tps.differs
    assert found.p95 is not None
    assert found.p95.delta < 0
    assert text(card(view, 60, 5)).splitlines()[0] == "A 00:49–00:56  →  B 01:11–01:20"
    assert [line.split()[0] for line in text(card(view, 60, 5)).splitlines()[1:4]] == ["TPS", "QPS", "p95"]
    assert "├──A──┤" in text(time_axis(view, AXIS_WIDTH + COLUMNS, 1, gutter=AXIS_WIDTH))


def test_the_comparison_fits_two_lines() -> None:
    brief = text(card(spans_of(begin(script.hello())), 78, 2)).splitlines()
    assert len(brief) == 2
    assert "TPS +" in brief[0]
    assert "p95 −" in brief[1]


def test_each_mark_says_what_is_asked_for_next() -> None:
    view = marked(begin(script.hello()), COLUMNS)
    asked = []
    for _ in range(4):
        assert view.note is not None
        asked.append(view.note.text.split("marks the ")[1].split(",")[0])
        view = marked(view, COLUMNS)
    assert asked == [
        "first end of span A",
        "other end of span A",
        "first end of span B",
        "other end of span B",
    ]


def test_spans_that_are_too_short_are_not_compared() -> None:
    view = begin(script.hello())
    for column in (40, 41, 45, 49):
        view = marked(pointed(view, COLUMNS, column), COLUMNS)
    assert "span A has 2 measured points, 4 are needed" in text(card(view, 60, 5))


def test_a_fifth_mark_begins_anew() -> None:
    view = marked(spans_of(begin(script.hello())), COLUMNS)
    assert (view.lens.marks, view.lens.difference) == ((), None)


def test_a_frozen_picture_is_told_in_the_tab_line() -> None:
    view = msgspec.structs.replace(view_of(60), picture_of=90.0)
    assert (
        plain(tab_line(lambda _: (), "live", view, 120, 1)[0]).strip().startswith("‖ PICTURE FROZEN AT 01:00")
    )
    assert "FROZEN 01:00 (v)" in plain(tab_line(lambda _: (), "live", view, 78, 1)[0])
