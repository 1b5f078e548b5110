"""From messages to a view: what is kept, where a gap is, and which column a change belongs to."""

from tests.ticks import changed
from tests.tui.support import script
from tuibench.model.event import Event, EventKind
from tuibench.model.message import RunState
from tuibench.tui.chart_columns import change_markers, chart_points
from tuibench.tui.commands.chart_view import toggle_freeze
from tuibench.tui.view import (
    MAX_SAMPLES,
    View,
    initial_view,
    next_view,
    visible_view,
    with_note,
)


def change(elapsed: float, number: int, kind: EventKind = EventKind.MARK) -> Event:
    return Event(at=0.0, elapsed_seconds=elapsed, kind=kind, text="", marker=number)


def view_of(length: int, *events: Event) -> View:
    return initial_view(script.hello(length, events=events))


def test_a_view_begins_with_the_history() -> None:
    view = initial_view(script.hello())
    assert view.elapsed_seconds == script.LENGTH
    assert len(view.points) == script.LENGTH - len(script.MISSED)
    assert view.sample is not None
    assert view.sample.number == script.LENGTH


def test_before_the_first_sample_everything_is_missing() -> None:
    view = view_of(0)
    assert (view.load, view.server, view.host, view.elapsed_seconds) == (None, None, None, 0.0)
    assert chart_points(view, 3) == [None, None, None]
    assert change_markers(view, 3) == {}


def test_a_tick_that_never_came_is_a_gap() -> None:
    slots = chart_points(view_of(40), 5)
    assert [slot and slot.elapsed_seconds for slot in slots] == [36.0, None, None, 39.0, 40.0]


def test_a_sample_without_load_is_a_gap_too() -> None:
    view = view_of(10)
    lost = script.without(script.samples(11)[-1], "load")
    slots = chart_points(next_view(view, lost), 2)
    assert slots[0] is not None
    assert slots[0].tps is not None
    assert slots[1] is not None
    assert slots[1].tps is None


def test_the_window_shows_the_newest() -> None:
    slots = chart_points(view_of(30), 10)
    assert [slot.elapsed_seconds for slot in slots if slot] == [float(n) for n in range(21, 31)]


def test_only_the_newest_samples_are_kept_whole() -> None:
    view, sample = view_of(1), script.samples(1)[0]
    for number in range(1, MAX_SAMPLES + 10):
        view = next_view(view, changed(sample, elapsed_seconds=float(number)))
    assert len(view.recent) == MAX_SAMPLES
    assert view.elapsed_seconds == MAX_SAMPLES + 9


def test_a_frozen_view_does_not_change_while_the_run_is_controlled() -> None:
    view = toggle_freeze(view_of(10), 50)
    later = next_view(next_view(view, script.samples(12)[-1]), script.status(threads=8))
    shown = visible_view(later)
    assert (shown.elapsed_seconds, shown.run_seconds, shown.status.threads) == (10.0, 12.0, 8)
    assert visible_view(toggle_freeze(later, 50)).elapsed_seconds == 12.0


def test_a_change_belongs_to_the_first_sample_that_ends_after_it() -> None:
    assert change_markers(view_of(20, change(17.3, 1)), 10) == {7: 1}
    assert change_markers(view_of(20, change(18.0, 1)), 10) == {7: 1}
    assert change_markers(view_of(20, change(19.9, 1)), 10) == {9: 1}


def test_a_change_later_than_the_last_sample_waits_for_the_next() -> None:
    assert change_markers(view_of(20, change(20.4, 1)), 10) == {}


def test_old_changes_scroll_off() -> None:
    assert change_markers(view_of(30, change(2.0, 1), change(25.5, 2)), 10) == {5: 2}


def test_only_numbered_changes_are_marked() -> None:
    assert change_markers(view_of(20, change(15.0, 1, EventKind.ERRORS)), 10) == {}


def test_an_answer_is_shown_for_a_while() -> None:
    view = with_note(view_of(10), "threads 8", ok=True)
    samples = script.samples(36)
    view = next_view(view, samples[10])
    assert view.note is not None
    assert next_view(view, samples[30]).note is None


def test_the_end_ends_the_state() -> None:
    assert next_view(view_of(10), script.ended()).status.state is RunState.ENDED


def test_durability_is_at_risk_with_either_setting() -> None:
    assert not initial_view(script.hello(60)).at_risk
    for values in (("0", "1"), ("1", "100")):
        assert initial_view(script.hello(60, script.status(durability=values))).at_risk
