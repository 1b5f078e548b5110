"""Keys and choices become commands; views of charts."""

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ticks import changed
from tests.tui.support import script
from tests.tui.support.driving import SMALL
from tests.unit.tui.views import text
from tuibench.base.errors import UsageError
from tuibench.model.event import Event, EventKind
from tuibench.model.message import (
    ApplyPreset,
    ChangeSetting,
    Command,
    CommandReply,
    Mark,
    Pause,
    ReplayState,
    RunState,
    SetRate,
    SetThreads,
    Watch,
)
from tuibench.model.schedule import MAX_THREADS
from tuibench.tui import styled_app
from tuibench.tui.actions import ACTIONS, ACTIONS_BY_NAME, REPLAY_ACTIONS, is_possible
from tuibench.tui.app import DIALOGS, FEATURES_DIALOGS, TuibenchApp
from tuibench.tui.charts import ZOOMS
from tuibench.tui.panels.bars import tab_line
from tuibench.tui.panels.effects import comparison_card
from tuibench.tui.panels.lists import events_panel
from tuibench.tui.panels.load import P95, TPS
from tuibench.tui.panels.small import small_panel
from tuibench.tui.panels.time_chart import AXIS_WIDTH, time_axis_lines, time_chart
from tuibench.tui.screens import tabs
from tuibench.tui.screens.base import size_classes
from tuibench.tui.screens.dialogs import RESTORED_NOTE
from tuibench.tui.screens.help import ACTION_SUBJECTS, KEY_WIDTH, help_sections
from tuibench.tui.screens.load_dialogs import ORIGINAL_VALUE_NOTE, durability_choices
from tuibench.tui.steering import (
    CommandSender,
    ThreadChange,
    UpdateInbox,
    ViewChange,
    ViewerClient,
    clear_marks,
    cursor_to_newest,
    cursor_to_oldest,
    mark_span_end,
    move_cursor,
    point_cursor,
    toggle_freeze,
    zoom_by,
)
from tuibench.tui.text import plain_text
from tuibench.tui.view import (
    MAX_SAMPLES,
    View,
    ViewMessage,
    change_markers,
    chart_points,
    initial_view,
    next_view,
    view_grid,
    visible_view,
    with_note,
)

# The table of actions feeds everything that names a key.


DIALOG_WIDTH = 8
"""What frame, padding and scroll bar take of the help."""
REPLAYING = ReplayState(position_seconds=10.0, first_seconds=0.0, last_seconds=84.0)


def test_no_key_means_two_things() -> None:
    counted = Counter(key for action in ACTIONS for key in action.keys.split(","))
    counted.update(key for place in tabs.SCREEN_TABS for key in (place.key, place.also) if key)
    assert max(counted.values()) == 1


def keys(view: View) -> set[str]:
    return {key for _, entries in help_sections(view) for keys, _ in entries for key in keys.split()}


def test_every_action_has_its_subject_in_the_help() -> None:
    told = Counter(name for names in ACTION_SUBJECTS.values() for name in names)
    assert told == Counter(ACTIONS_BY_NAME.keys())


def test_a_line_of_the_help_fits_beside_its_key_in_one_of_two_columns_at_80() -> None:
    live = initial_view(script.hello(10))
    lines = [text for _, entries in help_sections(live) for _, text in entries]
    assert max(map(len, lines)) <= (SMALL[0] - DIALOG_WIDTH) // 2 - KEY_WIDTH


def test_the_help_lists_every_key() -> None:
    live = initial_view(script.hello(10))
    listed = keys(live)
    assert {action.shown for action in ACTIONS if action not in REPLAY_ACTIONS} <= listed
    replayed = keys(msgspec.structs.replace(live, replay=REPLAYING))
    assert {action.shown for action in REPLAY_ACTIONS} | {"p", "q", "?"} <= replayed
    assert not {"+", "t", "d", "x"} & replayed
    assert {place.key for place in tabs.SCREEN_TABS} <= listed


def test_every_action_leads_somewhere() -> None:
    for action in ACTIONS:
        opens = action.name in {*DIALOGS, *FEATURES_DIALOGS} or hasattr(TuibenchApp, f"_open_{action.name}")
        leads = (
            action.play
            or action.command
            or action.change
            or action.view_change
            or action.place in tabs.TABS_BY_NAME
            or opens
        )
        assert leads, action.name


def test_every_dialog_has_its_action() -> None:
    assert {*DIALOGS, *FEATURES_DIALOGS} <= set(ACTIONS_BY_NAME)


def test_nothing_but_looking_and_leaving_works_while_stopping() -> None:
    view = initial_view(script.hello(10, script.status(RunState.STOPPING)))
    view_changes = {action.name for action in ACTIONS if action.view_change}
    assert {action.name for action in ACTIONS if is_possible(action, view)} == {
        "copy",
        "save",
        "figures",
        "help",
        "menu",
        "leave",
        "stop",
    } | view_changes
    assert is_possible(ACTIONS_BY_NAME["more"], initial_view(script.hello(10)))


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((80, 24), "-compact -short -low"),
        ((79, 24), "-small -short -low"),
        ((80, 23), "-small -short -low"),
        ((100, 30), "-compact -short"),
        ((120, 36), "-full -short -high"),
        ((200, 24), "-compact -short -low"),
        ((100, 60), "-compact -tall -high"),
        ((200, 60), "-full -tall -high -wide"),
    ],
)
def test_the_arrangement_follows_the_size(size: tuple[int, int], expected: str) -> None:
    assert size_classes(*size) == set(expected.split())


def small(view: View, width: int, height: int) -> list[str]:
    lines = [plain_text(line) for line in small_panel(view, width, height, needed=(80, 24))]
    assert len(lines) == height
    assert {len(line) for line in lines} == {width}
    return lines


@given(st.integers(10, 130), st.integers(1, 60))
def test_a_small_terminal_has_the_figures_that_fit(width: int, height: int) -> None:
    assert "x leave" in small(initial_view(script.hello(60)), width, height)[-1]


def test_the_first_figures_of_a_small_terminal_come_first() -> None:
    view = initial_view(script.hello(60))
    text = "\n".join(small(view, 60, 20))
    for words in ("● running", "TPS", "QPS", "p95", "CPU of the host", "DURABLE", "need 80×24", "60×20"):
        assert words in text
    assert [line.split()[0] for line in small(view, 40, 3)] == ["TPS", "p95", "x"]


def test_a_viewer_of_a_small_terminal_is_not_told_to_stop_the_run() -> None:
    for read_only in (False, True):
        view = msgspec.structs.replace(initial_view(script.hello(60)), read_only=read_only)
        text = "\n".join(small(view, 70, 20))
        assert ("q leaves" if read_only else "x leaves, the run continues") in text
        assert "stop" not in text


def test_an_unknown_theme_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean tuibench-light"):
        styled_app.check_theme("tuibench-lihgt")
    styled_app.check_theme("ansi-dark")


# Held keys do not flood: one thread change on its way, and one command of a type.


class Session:
    """What a viewer sends, each command until it is answered. The threads are as `status` says."""

    def __init__(self, threads: int = 8, *, starts_idle: bool = False) -> None:
        hello = script.hello()
        plan = msgspec.structs.replace(hello.plan, threads=0, schedule=()) if starts_idle else hello.plan
        assert plan.starts_idle is starts_idle
        self.hello = msgspec.structs.replace(hello, plan=plan)
        self.submitted: list[Command] = []
        self.replies: list[ViewMessage] = []
        self.status = msgspec.structs.replace(script.status(), threads=threads, production_signs=())
        self._awaited: list[asyncio.Future[CommandReply]] = []
        inbox = cast(UpdateInbox, SimpleNamespace(put=self.replies.append))
        self.sender = CommandSender(cast(ViewerClient, self), inbox, asyncio.ensure_future)

    async def submit(self, command: Command) -> CommandReply:
        self.submitted.append(command)
        self._awaited.append(asyncio.get_running_loop().create_future())
        return await self._awaited[-1]

    async def answer(self, *, ok: bool = True) -> None:
        """Answers the oldest command, and lets the viewer react."""
        self._awaited.pop(0).set_result(CommandReply(id=0, ok=ok, text=""))
        await self.settle()

    async def press(self, *changes: ThreadChange) -> None:
        for change in changes:
            self.sender.change_threads(change, self.status)
        await self.settle()

    async def send(self, *commands: Command) -> None:
        for command in commands:
            self.sender.send(command, self.status)
        await self.settle()

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    def report(self, threads: int) -> None:
        self.status = msgspec.structs.replace(self.status, threads=threads)
        self.sender.on_status()


def one_more(threads: int) -> int:
    return threads + 1


def one_fewer(threads: int) -> int:
    return threads - 1


def to(threads: int) -> ThreadChange:
    return lambda present: threads


async def test_presses_on_the_way_add_up_to_one_following_change() -> None:
    session = Session()
    await session.press(one_more, *[one_more] * 5)
    assert session.submitted == [SetThreads(9)]
    await session.answer()
    assert session.submitted == [SetThreads(9), SetThreads(14)]
    await session.answer()
    assert len(session.submitted) == len(session.replies) == 2


async def test_presses_that_take_each_other_back_send_nothing_more() -> None:
    session = Session()
    await session.press(one_more, one_more, one_fewer)
    await session.answer()
    assert session.submitted == [SetThreads(9)]


async def test_a_refusal_forgets_what_was_pressed_on_top() -> None:
    session = Session()
    await session.press(one_more, one_more)
    await session.answer(ok=False)
    assert session.submitted == [SetThreads(9)]
    await session.press(one_more)
    assert session.submitted == [SetThreads(9), SetThreads(9)]


async def test_a_press_between_answer_and_status_counts_from_what_was_answered() -> None:
    session = Session()
    await session.press(one_more)
    await session.answer()
    await session.press(one_more)
    await session.answer()
    await session.press(one_fewer, one_fewer)
    assert session.submitted == [SetThreads(9), SetThreads(10), SetThreads(9)]
    await session.answer()
    assert session.submitted[3:] == [SetThreads(8)]


async def test_after_a_status_the_session_is_right() -> None:
    session = Session()
    await session.press(one_more)
    session.report(5)
    await session.press(one_more)
    await session.answer()
    assert session.submitted == [SetThreads(9), SetThreads(10)], "a status on the way changes nothing"
    await session.answer()
    session.report(5)
    await session.press(one_more)
    assert session.submitted[2:] == [SetThreads(6)]


async def test_nothing_is_sent_that_changes_nothing() -> None:
    session = Session(1)
    await session.press(lambda threads: threads // 2)
    await session.send(SetThreads(1))
    assert session.submitted == []


@given(st.lists(st.integers(-10, MAX_THREADS * 2), min_size=1, max_size=8), st.integers(1, 500))
def test_what_is_sent_is_always_a_possible_number(wanted: list[int], present: int) -> None:
    async def press() -> None:
        session = Session(present)
        for number in wanted:
            await session.press(to(number))
        while len(session.replies) < len(session.submitted):
            await session.answer()
        assert all(
            isinstance(each, SetThreads) and 1 <= each.threads <= MAX_THREADS for each in session.submitted
        )

    asyncio.run(press())


async def test_one_command_of_a_type_waits() -> None:
    session = Session()
    await session.send(Mark(), Mark(), Pause())
    assert session.submitted == [Mark(), Pause()]
    await session.answer()
    await session.send(Mark())
    assert session.submitted == [Mark(), Pause(), Mark()]


async def test_a_command_with_other_values_follows_the_one_of_its_type() -> None:
    session = Session()
    await session.send(SetRate(1), SetRate(2), SetRate(2), SetRate(1))
    sent = [SetRate(1), SetRate(2), SetRate(1)]
    for number in (1, 2, 3):
        assert session.submitted == sent[:number]
        await session.answer()
    assert session.submitted == sent


async def test_the_answer_to_a_poll_is_not_shown() -> None:
    session = Session()
    await session.send(Watch("activity"))
    await session.answer()
    assert session.replies == []


async def test_a_load_in_reserve_may_be_taken_away_to_the_last_thread() -> None:
    for starts_idle, sent in ((True, [SetThreads(0)]), (False, [])):
        session = Session(1, starts_idle=starts_idle)
        await session.press(one_fewer)
        assert session.submitted == sent


# Cursor, zoom and comparison: what the keys of the charts make of a view.


COLUMNS = 50


def view_of(length: int = 60, *events: Event) -> View:
    return initial_view(script.hello(length, events=events))


def looked(view: View, *looks: ViewChange) -> View:
    for look in looks:
        view = look(view, COLUMNS)
    return view


def long_run(seconds: int) -> View:
    """In ticks of 3 s."""
    view, sample = view_of(0), script.samples(1)[0]
    for end in range(3, seconds + 1, 3):
        tick = msgspec.structs.replace(sample.tick, end=float(end), seconds=3.0)
        view = next_view(view, msgspec.structs.replace(sample, tick=tick))
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
    view = long_run(3999)
    for zoom in ZOOMS[1:]:
        view = looked(view, zoom_by(1))
        seconds = sum(point.seconds for point in chart_points(view, COLUMNS) if point is not None)
        assert seconds >= min(zoom.seconds - view_grid(view, COLUMNS).column_seconds, 3999), zoom


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
    assert isinstance(found, tuple)
    tps, _, p95 = found
    assert tps.percent is not None
    assert 45 < tps.percent < 65
    assert tps.differs
    assert p95.delta < 0
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
    assert "TPS +" in brief[0]
    assert "p95 −" in brief[1]


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
        .startswith("‖ DISPLAY FROZEN AT 01:00")
    )
    assert "FROZEN 01:00 (v)" in plain_text(tab_line(lambda _: (), "live", view, 78, 1)[0])


# The durability choices, and what each would ask.


def test_presets_come_first_then_each_setting() -> None:
    found = durability_choices(initial_view(script.hello(60)))
    assert [heading for heading, _ in found] == [
        "Presets, now flush_log 1, sync_binlog 1",
        f"{script.FLUSH}, now 1",
        f"{script.SYNC}, now 1",
    ]
    assert [choice.proposal.command for choice in found[0][1]] == [
        ApplyPreset("durable"),
        ApplyPreset("relaxed"),
        ApplyPreset("unsafe"),
    ]
    assert found[2][1][1].proposal.command == ChangeSetting(script.SYNC, "100")


def test_the_present_state_is_marked() -> None:
    found = durability_choices(initial_view(script.hello(84)))
    assert [choice.current for choice in found[0][1]] == [False, False, True]
    assert [choice.current for choice in found[1][1]] == [False, False, True]


def test_a_proposal_says_from_to_and_risk() -> None:
    proposal = durability_choices(initial_view(script.hello(60)))[0][1][2].proposal
    assert [step.split() for step in proposal.steps] == [
        [script.FLUSH, "1", "→", "0"],
        [script.SYNC, "1", "→", "0"],
    ]
    assert proposal.at_risk
    assert proposal.verdict.startswith("▲ Any crash")


def test_the_way_back_is_called_that_and_leaves_nothing_to_put_back() -> None:
    at_first, relaxed = (durability_choices(initial_view(script.hello(seconds))) for seconds in (60, 84))
    assert [choice.proposal.promise for choice in relaxed[0][1]] == [
        ORIGINAL_VALUE_NOTE,
        RESTORED_NOTE,
        RESTORED_NOTE,
    ]
    assert [choice.proposal.promise for choice in relaxed[1][1]] == [
        ORIGINAL_VALUE_NOTE,
        RESTORED_NOTE,
        RESTORED_NOTE,
    ]
    assert {choice.proposal.promise for choice in at_first[0][1]} == {RESTORED_NOTE}


def test_what_is_safe_is_not_called_a_risk() -> None:
    proposal = durability_choices(initial_view(script.hello(84)))[0][1][0].proposal
    assert not proposal.at_risk
    assert proposal.verdict.startswith("● Every commit")


def test_a_setting_that_cannot_be_changed_blocks_its_choices_with_the_reason() -> None:
    found = durability_choices(
        initial_view(script.hello(60, script.status(unavailable="1227: no SUPER privilege")))
    )
    assert {choice.obstacle for _, choices in found for choice in choices} == {"1227: no SUPER privilege"}


# From messages to a view: what is kept, where a gap is, and which column a change belongs to.


def change(elapsed: float, number: int, kind: EventKind = EventKind.MARK) -> Event:
    return Event(at=0.0, elapsed_seconds=elapsed, kind=kind, text="", marker=number)


def view_view_of(length: int, *events: Event) -> View:
    return initial_view(script.hello(length, events=events))


def test_a_view_begins_with_the_history() -> None:
    view = initial_view(script.hello())
    assert view.elapsed_seconds == script.LENGTH
    assert len(view.points) == script.LENGTH - len(script.MISSED)
    assert view.sample is not None
    assert view.sample.number == script.LENGTH


def test_before_the_first_sample_everything_is_missing() -> None:
    view = view_view_of(0)
    assert (view.load, view.server, view.host, view.elapsed_seconds) == (None, None, None, 0.0)
    assert chart_points(view, 3) == [None, None, None]
    assert change_markers(view, 3) == {}


def test_a_tick_that_never_came_is_a_gap() -> None:
    slots = chart_points(view_view_of(40), 5)
    assert [slot and slot.elapsed_seconds for slot in slots] == [36.0, None, None, 39.0, 40.0]


def test_a_sample_without_load_is_a_gap_too() -> None:
    view = view_view_of(10)
    lost = script.without(script.samples(11)[-1], "load")
    slots = chart_points(next_view(view, lost), 2)
    assert slots[0] is not None
    assert slots[0].tps is not None
    assert slots[1] is not None
    assert slots[1].tps is None


def test_the_window_shows_the_newest() -> None:
    slots = chart_points(view_view_of(30), 10)
    assert [slot.elapsed_seconds for slot in slots if slot] == [float(n) for n in range(21, 31)]


def test_only_the_newest_samples_are_kept_whole() -> None:
    view, sample = view_view_of(1), script.samples(1)[0]
    for number in range(1, MAX_SAMPLES + 10):
        view = next_view(view, changed(sample, elapsed_seconds=float(number)))
    assert len(view.recent) == MAX_SAMPLES
    assert view.elapsed_seconds == MAX_SAMPLES + 9


def test_a_frozen_view_does_not_change_while_the_run_is_controlled() -> None:
    view = toggle_freeze(view_view_of(10), 50)
    later = next_view(next_view(view, script.samples(12)[-1]), script.status(threads=8))
    shown = visible_view(later)
    assert (shown.elapsed_seconds, shown.run_seconds, shown.status.threads) == (10.0, 12.0, 8)
    assert visible_view(toggle_freeze(later, 50)).elapsed_seconds == 12.0


def test_a_change_belongs_to_the_first_sample_that_ends_after_it() -> None:
    assert change_markers(view_view_of(20, change(17.3, 1)), 10) == {7: 1}
    assert change_markers(view_view_of(20, change(18.0, 1)), 10) == {7: 1}
    assert change_markers(view_view_of(20, change(19.9, 1)), 10) == {9: 1}


def test_a_change_later_than_the_last_sample_waits_for_the_next() -> None:
    assert change_markers(view_view_of(20, change(20.4, 1)), 10) == {}


def test_old_changes_scroll_off() -> None:
    assert change_markers(view_view_of(30, change(2.0, 1), change(25.5, 2)), 10) == {5: 2}


def test_only_numbered_changes_are_marked() -> None:
    assert change_markers(view_view_of(20, change(15.0, 1, EventKind.ERRORS)), 10) == {}


def test_an_answer_is_shown_for_a_while() -> None:
    view = with_note(view_view_of(10), "threads 8", ok=True)
    samples = script.samples(36)
    view = next_view(view, samples[10])
    assert view.note is not None
    assert next_view(view, samples[30]).note is None


def test_the_end_ends_the_state() -> None:
    assert next_view(view_view_of(10), script.ended()).status.state is RunState.ENDED


def test_durability_is_at_risk_with_either_setting() -> None:
    assert not initial_view(script.hello(60)).at_risk
    for values in (("0", "1"), ("1", "100")):
        assert initial_view(script.hello(60, script.status(durability=values))).at_risk
