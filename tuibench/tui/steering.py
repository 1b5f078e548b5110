"""Steering: messages from the session, commands to it, navigation of the charts.

After a command, the session sends a status, an event and a reply one after the other. The inbox collects them
for one frame, so that the app makes one view of them, and paints once.

A held key repeats thirty times a second. Presses while a thread change is pending add up to one change that
follows it. Any other command that is pending is not sent again; one of its type with other values is sent
after the reply.

Navigation consists of pure functions from a view to a view. Their argument `columns` is the width of the
visible screen's charts in cells, 0 without charts; then there is no cursor.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from operator import sub
from statistics import fmean, stdev
from typing import NamedTuple, Protocol

import msgspec
from textual.message import Message as TextualMessage

from tuibench.base.errors import RunError
from tuibench.metrics.ab_analysis import ALPHA, FEWEST_PAIRS_OF_INTERVAL, PRIMARY_SHARE, pairs_until
from tuibench.model.effect import (
    DEFAULT_MAX_SECONDS,
    DEFAULT_TOLERANCE_PERCENT,
    Comparison,
    Effect,
    Verdict,
    until_window_seconds,
)
from tuibench.model.message import (
    ApplyPreset,
    ChangeSetting,
    Command,
    CommandReply,
    Hello,
    PollCommand,
    SetThreads,
    StartAbTest,
    Status,
    TrustServer,
)
from tuibench.model.schedule import MAX_THREADS, parse_ab
from tuibench.model.settings import ab_order
from tuibench.tui import view
from tuibench.tui.charts import MAX_FIGURES, MAX_MARKS, ZOOMS, compare_spans
from tuibench.tui.figures import figure_of
from tuibench.tui.view import View, view_grid, visible_view, with_note


class Resolving(NamedTuple):
    """An A/B test that would decide the shown effect."""

    order: StartAbTest
    seconds: float | None
    """The estimated duration; None if unknown."""

    @property
    def is_too_long(self) -> bool:
        return self.seconds is not None and self.seconds > self.order.max_seconds


def resolving_test(view: View) -> Resolving | None:
    """The test of the two values of the shown effect; None unless the effect is doubtful and can be
    tested.
    """
    effect = view.effect
    first = effect.comparisons[0] if effect is not None and effect.comparisons else None
    if effect is None or first is None or first.differs or first.verdict is Verdict.EQUAL:
        return None
    order = ab_order(effect.change, view.status.presets)
    if view.cannot_steer or not order or view.status.effect is not None or view.is_ab_testing:
        return None
    subject, a, b = parse_ab(order)
    return Resolving(
        StartAbTest(
            subject=subject,
            a=a,
            b=b,
            tolerance_percent=DEFAULT_TOLERANCE_PERCENT,
            max_seconds=DEFAULT_MAX_SECONDS,
        ),
        _seconds_needed(view, effect, first),
    )


def _seconds_needed(view: View, effect: Effect, one: Comparison) -> float | None:
    """The estimated duration of an A/B test, from the noise of windows of its length before the change."""
    window = until_window_seconds(view.plan.interval_seconds)
    levels: dict[int, list[float]] = {}
    for point in view.points:
        value = {"tps": point.tps, "p95_ms": point.p95_ms}.get(one.figure)
        if value and effect.at_seconds - MOST_BEFORE_SECONDS < point.elapsed_seconds <= effect.at_seconds:
            levels.setdefault(int(point.elapsed_seconds / window), []).append(math.log(value))
    means = [fmean(each) for _, each in sorted(levels.items())]
    if len(means) < FEWEST_WINDOWS or one.percent is None or one.percent <= -100:
        return None
    pairs = pairs_until(
        math.log1p(one.percent / 100),
        stdev(map(sub, means[1:], means)),
        alpha=ALPHA * PRIMARY_SHARE,
        tolerance=DEFAULT_TOLERANCE_PERCENT / 100,
        done=FEWEST_PAIRS_OF_INTERVAL,
    )
    return math.inf if pairs is None else 2 * window * (pairs + FEWEST_PAIRS_OF_INTERVAL)


MOST_BEFORE_SECONDS, FEWEST_WINDOWS = 120.0, 4
"""The noise is estimated from this time before a change, divided into at least this number of windows."""

FRAME_SECONDS = 1 / 60
"""Minimum interval between two paints."""


class ViewerClient(Protocol):
    """The operations of a session's client that the viewer uses; the client is scripted in tests."""

    @property
    def hello(self) -> Hello: ...

    def messages(self) -> AsyncIterator[view.ViewMessage]: ...

    async def submit(self, command: Command) -> CommandReply: ...

    async def close(self) -> None: ...


Connect = Callable[[], Awaitable[ViewerClient]]


class ReplayPlayer(Protocol):
    """The operations of a replay that a session does not have; the player is scripted in tests."""

    def toggle(self) -> None: ...

    def seek(self, seconds: float) -> None: ...

    def faster(self) -> None: ...

    def slower(self) -> None: ...


class UpdatesArrived(TextualMessage):
    """All messages of one frame, in order of arrival."""

    def __init__(self, contents: Sequence[view.ViewMessage]) -> None:
        super().__init__()
        self.contents = tuple(contents)


class ConnectionClosed(TextualMessage):
    """The connection to the session has ended: no more messages follow."""


class UpdateInbox:
    """Collects messages and posts them once per frame."""

    def __init__(self, post: Callable[[TextualMessage], object]) -> None:
        self._post = post
        self._arrived: list[view.ViewMessage] = []

    def put(self, content: view.ViewMessage) -> None:
        """Add a message; the first one of a frame starts its timer."""
        self._arrived.append(content)
        if len(self._arrived) == 1:
            asyncio.get_running_loop().call_later(FRAME_SECONDS, self.flush)

    def flush(self) -> None:
        """Post the collected messages, if any."""
        arrived, self._arrived = self._arrived, []
        if arrived:
            self._post(UpdatesArrived(arrived))

    async def read(self, client: ViewerClient) -> None:
        """Collect the client's messages until its connection ends."""
        try:
            async for content in client.messages():
                self.put(content)
        finally:
            self.flush()
            self._post(ConnectionClosed())


ViewChange = Callable[[View, int], View]

_MARK_NAMES = ("first end of span A", "other end of span A", "first end of span B", "other end of span B")
_NO_EFFECT = "no effect yet: the effect of a change is measured after the load has settled"
_NO_SECOND_EFFECT = (
    "a comparison needs two effects: the effect of a change is measured after the load has settled"
)
_MARK_HINT = "← → moves the cursor, c marks the {}, esc cancels"


def zoom_by(by: int) -> ViewChange:
    """Show more time on the charts (+1), or less (−1)."""

    def change(view: View, columns: int) -> View:
        place = min(max(view.chart_state.zoom + by, 0), len(ZOOMS) - 1)
        return _with_chart_state(view, zoom=place)

    return change


def move_cursor(by: int) -> ViewChange:
    """Move the cursor by a number of ticks to the right; it first appears at the newest."""

    def change(view: View, columns: int) -> View:
        if view.chart_state.cursor is None:
            return point_cursor(view, columns, columns - 1)
        grid = view_grid(visible_view(view), columns)
        return point_cursor(view, columns, grid.column_at(view.chart_state.cursor[1]) + by * grid.cells)

    return change


def cursor_at(elapsed_seconds: float) -> ViewChange:
    """Place the cursor at a time, and zoom out as far as that requires."""

    def change(view: View, columns: int) -> View:
        for place in range(view.chart_state.zoom, len(ZOOMS)):
            wider = _with_chart_state(view, zoom=place)
            column = view_grid(visible_view(wider), columns).column_at(elapsed_seconds) if columns > 0 else 0
            if column >= 0:
                return point_cursor(wider, columns, column)
        return view

    return change


def cursor_to_oldest(view: View, columns: int) -> View:
    return point_cursor(view, columns, 0)


def cursor_to_newest(view: View, columns: int) -> View:
    return point_cursor(view, columns, columns - 1)


def point_cursor(view: View, columns: int, column: int) -> View:
    """Place the cursor at a column, or at the nearest one that has a time."""
    shown = visible_view(view)
    if columns <= 0 or not shown.history.points:
        return view
    grid = view_grid(shown, columns)
    first = max(0, grid.column_of(shown.history.first_slot))
    return _with_chart_state(view, cursor=grid.stretch_of(min(max(column, first), columns - 1)))


def toggle_freeze(view: View, columns: int) -> View:
    """Freeze the charts while the run goes on, or unfreeze them."""
    return msgspec.structs.replace(view, frozen=None if view.frozen else view)


def toggle_clock(view: View, columns: int) -> View:
    """Switch the axis between the time of day and seconds ago."""
    return _with_chart_state(view, clock=not view.chart_state.clock)


def mark_span_end(view: View, columns: int) -> View:
    """Mark an end of a span at the cursor; the fourth mark compares the spans."""
    if columns <= 0 or not view.history.points:
        return view
    if view.chart_state.cursor is None or len(view.chart_state.marks) >= MAX_MARKS:
        fresh = _with_chart_state(view, marks=(), difference=None)
        return _ask_next_mark(
            fresh if fresh.chart_state.cursor is not None else cursor_to_newest(fresh, columns)
        )
    marks = (*view.chart_state.marks, view.chart_state.cursor)
    if len(marks) < MAX_MARKS:
        return _ask_next_mark(_with_chart_state(view, marks=marks))
    chart_state = msgspec.structs.replace(view.chart_state, marks=marks)
    first, last = min(start for start, _ in chart_state.spans), max(end for _, end in chart_state.spans)
    found = compare_spans(visible_view(view).history.between(first, last), *chart_state.spans)
    return msgspec.structs.replace(
        _with_chart_state(view, marks=marks, difference=found, cursor=None), note=None
    )


def clear_marks(view: View, columns: int) -> View:
    """Clear cursor, spans and pins; a frozen view is unfrozen."""
    return msgspec.structs.replace(
        _with_chart_state(view, cursor=None, marks=(), difference=None, pins=()), frozen=None
    )


def toggle_figure(key: str, shown: tuple[str, ...]) -> ViewChange:
    """Add a figure to the charts of its screen, or remove it; `shown` are the current figures.

    If there would be more than `MAX_FIGURES`, the oldest one is removed.
    """

    def change(view: View, columns: int) -> View:
        figures = _toggled(key, shown)
        return with_note(
            _with_chart_state(view, figures=figures), _toggle_text(key, shown, "the chart"), ok=True
        )

    return change


def show_slots(names: tuple[str, ...]) -> ViewChange:
    """Put these figures on the charts of the first screen, from the top."""

    def change(view: View, columns: int) -> View:
        words = f"the charts of Live: {', '.join(names)}; the configuration remembers them"
        return with_note(_with_chart_state(view, slots=names), words, ok=True)

    return change


def toggle_on_live(key: str) -> ViewChange:
    """Add a figure to the first screen, or remove it."""

    def change(view: View, columns: int) -> View:
        before = view.chart_state.on_live
        on_live = _toggled(key, before)
        return with_note(_with_chart_state(view, on_live=on_live), _toggle_text(key, before, "Live"), ok=True)

    return change


def _toggled(key: str, shown: tuple[str, ...]) -> tuple[str, ...]:
    if key in shown:
        return tuple(each for each in shown if each != key)
    return (*shown, key)[-MAX_FIGURES:]


def _toggle_text(key: str, shown: tuple[str, ...], place: str) -> str:
    """Message about the figure that was added or removed."""
    figure = figure_of(key)
    title = figure.title if figure is not None else key
    if key in shown:
        return f"{title} is off {place}"
    oldest = figure_of(shown[0]) if len(shown) >= MAX_FIGURES else None
    return f"{title} is on {place}" + (f"; {oldest.title} was removed" if oldest is not None else "")


def pin_effects(markers: tuple[int, ...]) -> ViewChange:
    """Pin the effects of these changes: one, or two side by side."""
    return lambda view, columns: _with_chart_state(view, pins=markers)


def pin_previous_effect(view: View, columns: int) -> View:
    """Pin the newest effect, then the one before it, and so on; after the oldest, follow the newest again.

    While two effects are compared, the second one changes.
    """
    known = [effect.markers[-1] for effect in view.effects]
    if not known:
        return with_note(view, _NO_EFFECT, ok=False)
    first, moving = view.chart_state.pins[:-1], view.chart_state.pins[-1:]
    older = [marker for marker in known if not moving or marker < moving[0]]
    if first:
        others = [marker for marker in known if marker not in first]
        older = [marker for marker in older if marker in others] or others
    pins = (*first, older[-1]) if older else ()
    words = f"pinned: the effect of {pins[-1]}" if pins else "the newest effect is shown again"
    return with_note(_with_chart_state(view, pins=pins), words, ok=True)


def compare_effects(view: View, columns: int) -> View:
    """Compare the shown effect with another one; a second press ends the comparison."""
    known = [effect.markers[-1] for effect in view.effects]
    pins = view.chart_state.pins
    if len(pins) == 2:
        return with_note(_with_chart_state(view, pins=pins[:1]), f"pinned: the effect of {pins[0]}", ok=True)
    first = pins[0] if pins else known[-1] if known else None
    others = [marker for marker in known if marker != first]
    if first is None or not others:
        return with_note(view, _NO_SECOND_EFFECT, ok=False)
    words = f"compared: the effects of {first} and {others[-1]}; e selects another second effect"
    return with_note(_with_chart_state(view, pins=(first, others[-1])), words, ok=True)


def _ask_next_mark(view: View) -> View:
    return with_note(view, _MARK_HINT.format(_MARK_NAMES[len(view.chart_state.marks)]), ok=True)


def _with_chart_state(view: View, **changes: object) -> View:
    return msgspec.structs.replace(view, chart_state=msgspec.structs.replace(view.chart_state, **changes))


ThreadChange = Callable[[int], int]


class CommandSender:
    """Sends the commands of one viewer, of each type one at a time: the next one after the reply to the last.

    `run` starts a background task of the app.
    """

    def __init__(
        self, client: ViewerClient, inbox: UpdateInbox, run: Callable[[Coroutine[None, None, None]], object]
    ) -> None:
        self._client = client
        self._inbox = inbox
        self._run = run
        self._least_threads = 0 if client.hello.plan.starts_idle else 1
        self._queues: dict[type[Command], list[Command]] = {}
        """By type: the command whose reply is awaited, and those that follow it."""
        self._threads: int | None = None
        """The number last requested, until the session reports one."""

    def change_threads(self, change: ThreadChange, status: Status) -> None:
        """Apply a change to the number of threads last requested."""
        present = status.threads if self._threads is None else self._threads
        threads = min(max(change(present), self._least_threads), MAX_THREADS)
        if threads != present:
            self.send(SetThreads(threads), status)

    def send(self, command: Command, status: Status) -> None:
        """Submit a command, or queue it behind one of its type. What repeats the last one is dropped."""
        queue = self._queues.setdefault(type(command), [])
        if isinstance(command, SetThreads):
            if self._threads is None and command.threads == status.threads:
                return
            self._threads = command.threads
            del queue[1:]
        if command in queue[-1:]:
            return
        queue.append(command)
        if len(queue) == 1:
            self._run(self._exchange(command, status))

    def on_status(self) -> None:
        """Handle a new status: the next thread change starts from it, unless one is pending."""
        if not self._queues.get(SetThreads):
            self._threads = None

    async def _exchange(self, command: Command, status: Status) -> None:
        """Submit a command, and post its reply, unless it is a poll.

        If it changes a server that looks like production, `TrustServer` is submitted before it.
        """
        try:
            if isinstance(command, ChangeSetting | ApplyPreset) and status.production_signs:
                await self._client.submit(TrustServer())
            reply = await self._client.submit(command)
        except RunError as error:
            reply = CommandReply(id=0, ok=False, text=str(error))
        queue = self._queues[type(command)]
        queue.pop(0)
        if isinstance(command, SetThreads) and not reply.ok:
            # The presses since then were relative to the refused number.
            queue.clear()
            self._threads = None
        if queue:
            self._run(self._exchange(queue[0], status))
        if not isinstance(command, PollCommand):
            self._inbox.put(reply)
