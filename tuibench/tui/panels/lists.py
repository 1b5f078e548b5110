"""Lists of figures and of events, their selection, and the text for the copy key.

In a list of figures, the reason for a missing value is beside its dash, and a missing tick is a gap in the
sparkline. In a list of events, a change has the number of its marker in the charts.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from tuibench.base.units import DASH, axis_maximum, hms, local_time, pluralize
from tuibench.metrics.figures import figure_named
from tuibench.metrics.inference import least_text, verdict_text
from tuibench.model.effect import Effect
from tuibench.model.event import CHANGE_KINDS, Event, EventKind
from tuibench.model.settings import brief_change
from tuibench.tui import text as drawing
from tuibench.tui.charts import NEAR_ZERO, ChartPoint, baseline
from tuibench.tui.figures import figure_number
from tuibench.tui.panels.effects import before_after_text, difference_role, effect_lines
from tuibench.tui.panels.load import FSYNCS, PERCENTILES, QPS, TPS, measures_of
from tuibench.tui.text import (
    TextLine,
    TextSpan,
    join_parts,
    justify,
    line_width,
    pad_line,
    shorten,
    wrap_text,
)
from tuibench.tui.view import View

PAGE_LINES = 10
MOVE_KEYS = {
    "up": -1,
    "down": 1,
    "pageup": -PAGE_LINES,
    "pagedown": PAGE_LINES,
    "home": -(10**6),
    "end": 10**6,
}
"""Number of lines that each key moves down."""


class Selection(NamedTuple):
    """The selected row of a list."""

    id: int | None = None
    place: int = 0
    """Its last position, from 0."""

    def settled(self, ids: Sequence[int]) -> "Selection":
        """The selection in a new list: the same id, or if it is gone, the id at its former position."""
        if not ids:
            return Selection()
        if self.id in ids:
            return Selection(self.id, ids.index(self.id))
        place = min(self.place, len(ids) - 1)
        return Selection(ids[place], place)

    def moved(self, ids: Sequence[int], by: int) -> "Selection":
        """The selection moved down by this number of lines, within the list."""
        place = min(max(self.settled(ids).place + by, 0), len(ids) - 1)
        return Selection(ids[place], place) if ids else Selection()


def first_visible(chosen: int, count: int, height: int) -> int:
    """First visible line, such that the selected one is among `height` lines, near the middle."""
    return max(0, min(chosen - height // 2, count - height))


_NOW, _BESIDE = 10, 12
_LEAST_TREND = 6
_NAME = 17
_LONGEST_TREND = 60
_HEADROOM = 8 / 7
_HIGH = 2
"""Height of a sparkline in lines if there is ample room."""


class TrendRow(NamedTuple):
    """A row with the current value of a figure and its sparkline."""

    name: str
    now: str
    """The current value."""
    beside: str = ""
    """A total, a limit, or the reason for a missing value."""
    values: Sequence[float | None] = ()
    """The values of the last samples, the newest last."""
    alarm: bool = False
    """Whether the value is highlighted."""
    rare: bool = False
    """Whether the row is left out if space is short."""
    key: str = ""
    """The key of its figure, which selects its chart."""


class TrendSection(NamedTuple):
    """Rows below a heading."""

    title: str
    rows: Sequence[TrendRow]
    beside: str = ""
    """The heading of the last column."""


class ListMarks(NamedTuple):
    """The marks in a list."""

    chosen: str = ""
    """The key of the selected row."""
    charted: Collection[str] = ()
    """The keys of the rows whose figures are on the charts."""


NO_MARKS = ListMarks()


def stack_sections(
    sections: Sequence[TrendSection],
    width: int,
    height: int,
    *,
    beside: Sequence[TrendSection] = (),
    ascii_only: bool = False,
    marks: ListMarks = NO_MARKS,
) -> list[TextLine]:
    """The sections below each other; if there is room, with empty lines between them and higher sparklines.

    The sparklines are as high as those of the sections `beside` them, in the other column. If space is short,
    the lines around the selected row are shown.
    """
    sections = listed_sections(sections, height)
    free = height >= sections_height(sections, free=1)
    room = height >= max(sections_height(each, _HIGH, free=_HIGH) for each in (sections, beside))
    high = _HIGH if room and _trend_width(width) >= _LEAST_TREND else 1
    lines: list[TextLine] = []
    place = 0
    for section in sections:
        if lines and free:
            lines += [pad_line((), width)] * high
        columns = f"{'now':>{_NOW}}{section.beside:>{_BESIDE}}"
        lines.append(justify((TextSpan(section.title, "title"),), (TextSpan(columns, "muted"),), width))
        for row in section.rows:
            lines += _clickable(row, _trend_lines(row, width, high, marks, ascii_only=ascii_only), width)
            place = len(lines) - 1 if row.key and row.key == marks.chosen else place
    first = first_visible(place, len(lines), height)
    return lines[first : first + height]


def listed_sections(sections: Sequence[TrendSection], height: int) -> Sequence[TrendSection]:
    """The sections as listed in this height: if space is short, rare rows are left out, the last ones
    first.
    """
    rare = [row for section in sections for row in section.rows if row.rare]
    missing = max(sections_height(sections) - height, 0)
    left_out = rare[max(len(rare) - missing, 0) :]
    return [
        section._replace(rows=[row for row in section.rows if row not in left_out]) for section in sections
    ]


def listed_keys(sections: Sequence[TrendSection], height: int) -> list[str]:
    """Keys of the listed rows, from top to bottom."""
    return [row.key for section in listed_sections(sections, height) for row in section.rows if row.key]


def _trend_width(width: int) -> int:
    return min(width - _NOW - _BESIDE - _NAME - 2, _LONGEST_TREND)


def sections_height(sections: Sequence[TrendSection], high: int = 1, free: int = 0) -> int:
    """Height of the sections, with `high` lines per row and `free` lines between two sections."""
    return sum(len(section.rows) * high + 1 + free for section in sections) - free


def _trend_lines(
    row: TrendRow, width: int, high: int, marks: ListMarks, *, ascii_only: bool
) -> list[TextLine]:
    """Lines of a row: the figure is on the lowest line; a higher sparkline extends above it."""
    room = width - _NOW - _BESIDE
    trend = _trend_width(width)
    *above, lowest = sparkline(row.values, trend, high, ascii_only=ascii_only)
    before = room - trend - 1
    has_trend = trend >= _LEAST_TREND
    name = _name_cells(row, before if has_trend else room, marks)
    if has_trend:
        name = (*pad_line(name, before), TextSpan(lowest, "muted"))
    return [
        *(pad_line((TextSpan(" " * before), TextSpan(line, "muted")), width) for line in above),
        _value_line(row, name, width),
    ]


def _clickable(row: TrendRow, lines: list[TextLine], width: int) -> list[TextLine]:
    """The lines of a row that can be selected, over the whole width."""
    if not row.key:
        return lines
    action = f"screen.pick({figure_number(row.key)})"
    return [tuple(span._replace(action=action) for span in pad_line(line, width)) for line in lines]


def _name_cells(row: TrendRow, room: int, marks: ListMarks) -> TextLine:
    """Name, marked if the row is selected, followed by a dot if its figure is on the charts."""
    role = "selected" if row.key and row.key == marks.chosen else "warn" if row.alarm else "muted"
    if not row.key or row.key not in marks.charted:
        return (TextSpan(shorten(row.name, room), role),)
    return (TextSpan(shorten(row.name, room - 2), role), TextSpan(" ●", "server"))


def _value_line(row: TrendRow, name: TextLine, width: int) -> TextLine:
    if row.now == DASH:
        reason = shorten(f"{DASH} {row.beside}".rstrip(), _NOW + _BESIDE - 1)
        return justify(name, (TextSpan(reason, "muted"),), width)
    now = TextSpan(f"{row.now:>{_NOW}}", "warn" if row.alarm else "strong")
    beside = TextSpan(f"{shorten(row.beside, _BESIDE - 1):>{_BESIDE}}", "muted")
    return (*pad_line(name, width - _NOW - _BESIDE), now, beside)


def sparkline(values: Sequence[float | None], width: int, high: int, *, ascii_only: bool) -> list[str]:
    """The sparkline of the newest values, whose lower bound is `charts.baseline`.

    Constant values are drawn at half a row. A bar never fills its top cell, so that rows stay separate.
    """
    shown = [*(None,) * width, *values][-width:] if width > 0 else []
    known = [value for value in shown if value is not None]
    least, most = min(known, default=0.0), max(known, default=0.0)
    base = baseline(least, most)
    if base:
        shown = [None if value is None else value - base for value in shown]
        return drawing.draw_bars(shown, (most - base) * _HEADROOM, high, ascii_only=ascii_only)
    top = 2 * most if 0 < NEAR_ZERO * most <= least else axis_maximum(most) * _HEADROOM
    return drawing.draw_bars(shown, top, high, ascii_only=ascii_only)


_BADGE_WIDTH = 3
_GLYPHS = {
    EventKind.ERRORS: ("▲", "warn"),
    EventKind.WARNING: ("▲", "warn"),
    EventKind.RECONNECT: ("▲", "warn"),
    EventKind.RESTART: ("▲", "risk"),
    EventKind.FOREIGN: ("▲", "warn"),
    EventKind.EFFECT: ("Δ", "muted"),
    EventKind.BLACK_BOX: ("■", "muted"),
}
_FIGURE_CELLS = 8
"""Width of a difference in a row: −98 %, +1,234 %."""
_FEWEST_TEXT_CELLS = 24
_BRIEF_KINDS = frozenset({EventKind.THREADS, EventKind.SETTING})
"""Kinds of events whose text is a change, with a brief form."""
_INDENT = 2
"""Indent before each name of a figure."""


def events_panel(view: View, width: int, height: int) -> list[TextLine]:
    """The newest events that fit; the row of a change also has its effect."""
    listed = _rows_up_to_cursor(view)
    newest = reversed(listed[-height:]) if height > 0 else iter(())
    lines = [_event_line(view, event, width) for event in newest]
    if not lines:
        return [pad_line((TextSpan("No events yet.", "muted"),), width)]
    return lines


def event_badge(event: Event) -> TextSpan:
    """Number of the event's marker in the charts, or a glyph for its kind."""
    if event.marker is not None:
        return TextSpan(str(event.marker), "badge")
    return TextSpan(*_GLYPHS.get(event.kind, ("·", "muted")))


def _rows_up_to_cursor(view: View) -> tuple[Event, ...]:
    """Events up to the newest one at the cursor; all events without a cursor.

    The event of an effect, or of the reason why it is missing, is omitted if the row of its change is listed.
    """
    changes = {event.marker for event in view.events if event.kind in CHANGE_KINDS}
    rows = tuple(
        event for event in view.entries if event.kind is not EventKind.EFFECT or event.marker not in changes
    )
    pointed = (n for n in range(len(rows), 0, -1) if view.chart_state.points_at(rows[n - 1].elapsed_seconds))
    return rows[: next(pointed, len(rows))]


def _event_line(view: View, event: Event, width: int) -> TextLine:
    _, role = _GLYPHS.get(event.kind, ("·", "muted"))
    here = view.chart_state.points_at(event.elapsed_seconds)
    is_pinned = event.marker is not None and event.marker in view.chart_state.pins
    head: TextLine = (
        *pad_line((event_badge(event),), _BADGE_WIDTH - 1),
        TextSpan("▸" if is_pinned else " ", "strong"),
        TextSpan(f"{hms(event.elapsed_seconds):>6} ", "reading" if here else "muted"),
        TextSpan(" "),
    )
    room = width - line_width(head)
    effect = effect_of(event, view.events) if event.kind in CHANGE_KINDS else None
    text_role = role if role in ("warn", "risk") else ""
    words, is_brief = event.text, event.kind in _BRIEF_KINDS
    figures: TextLine = ()
    if effect is not None and effect.markers[-1] == event.marker:
        words, is_brief = effect.change, True
        figures = effect_figures(effect, room - _FEWEST_TEXT_CELLS)
    elif (state := _effect_state(view, event)) and room - len(state) >= _FEWEST_TEXT_CELLS:
        figures = (TextSpan(state, "muted"),)
    room_for_text = room - line_width(figures) - bool(figures)
    words = brief_change(words, room_for_text) if is_brief else words
    text = TextSpan(shorten(words, room_for_text), text_role)
    return (*head, *justify((text,), figures, room))


def _effect_state(view: View, event: Event) -> str:
    """The state of an unknown effect of a change; empty if the effect is known, or the event is not a
    change.
    """
    if event.kind not in CHANGE_KINDS or event.marker is None:
        return ""
    if view.effect_progress is not None and event.marker in view.effect_progress.markers:
        return "measuring"
    is_missing = any(each.not_measured and each.marker == event.marker for each in reversed(view.events))
    return "not measured" if is_missing else ""


def effect_figures(effect: Effect, room: int) -> TextLine:
    """The differences of an effect in columns, as many as fit; those that are not significant are grey."""
    line: TextLine = ()
    for one in effect.comparisons:
        name = TextSpan(f"  {figure_named(one.figure).brief.removesuffix('/trx')}", "muted")
        cell = (name, TextSpan(f"{least_text(one):>{_FIGURE_CELLS}}", difference_role(one)))
        if line_width((*line, *cell)) > room:
            break
        line = (*line, *cell)
    return line


EVENT_FILTERS: tuple[tuple[str, frozenset[EventKind]], ...] = (
    ("all", frozenset(EventKind)),
    ("changes", CHANGE_KINDS),
    ("effects", frozenset({EventKind.EFFECT})),
    ("problems", frozenset(_GLYPHS) - {EventKind.EFFECT}),
    ("marks", frozenset({EventKind.MARK})),
)
"""Filters: name, and the kinds of events included."""

_WIDE_BADGE, _TIME_WIDTH, _KIND_WIDTH = 4, 10, 11
_EMPTY_TEXTS = {
    "all": "No events yet.",
    "changes": "No changes yet.",
    "effects": "No effects yet: the effect of a change is measured after the load has settled.",
    "problems": "No errors, no reconnects, no restarts, no changes by other clients.",
    "marks": "No marks yet: space adds one.",
}


def filtered_events(entries: Sequence[Event], place: int) -> list[Event]:
    """The entries of a filter, newest first."""
    kinds = EVENT_FILTERS[place][1]
    return [event for event in reversed(entries) if event.kind in kinds]


def event_ids(events: Sequence[Event]) -> list[int]:
    """A stable number for each event: its time in microseconds, or the next free number."""
    found: dict[int, None] = {}
    for event in events:
        number = round(event.at * 1e6)
        while number in found:
            number += 1
        found[number] = None
    return list(found)


def filter_line(entries: Sequence[Event], place: int, width: int, height: int) -> list[TextLine]:
    """The filters with their counts; a click selects one."""
    parts = []
    for number, (name, _) in enumerate(EVENT_FILTERS):
        count = len(filtered_events(entries, number))
        role = "selected" if number == place else "muted"
        parts.append((TextSpan(f" {name} {count} ", role, f"screen.filter({number})"),))
    return [pad_line(join_parts(parts, TextSpan(" ")), width)][:height]


def timeline(
    entries: Sequence[Event], place: int, selection: Selection, width: int, height: int
) -> list[TextLine]:
    """One line per event of a filter, scrolled so that the selected one is visible."""
    listed = filtered_events(entries, place)
    if not listed:
        return [pad_line((TextSpan(_EMPTY_TEXTS[EVENT_FILTERS[place][0]], "muted"),), width)][:height]
    first = first_visible(selection.place, len(listed), height)
    return [
        _timeline_row(event, number, width, chosen=number == selection.place)
        for number, event in enumerate(listed[first : first + height], first)
    ]


def _timeline_row(event: Event, number: int, width: int, *, chosen: bool) -> TextLine:
    label = event_badge(event)
    line: TextLine = (
        TextSpan("▸ " if chosen else "  "),
        *pad_line((label,), _WIDE_BADGE),
        TextSpan(f"{hms(event.elapsed_seconds):<{_TIME_WIDTH}}", "muted"),
        TextSpan(f"{event.kind:<{_KIND_WIDTH}}", "muted"),
    )
    room = width - line_width(line)
    if event.effect is not None and len(event.text) > room:
        line = (*line, *_without_indent(effect_figures(event.effect, room + _INDENT)))
    else:
        line = (*line, TextSpan(event.text, label.role if label.role in ("warn", "risk") else ""))
    line = tuple(span._replace(action=f"screen.pick({number})") for span in pad_line(line, width))
    if not chosen:
        return line
    return tuple(span if span.role == "badge" else span._replace(role="selected") for span in line)


def _without_indent(line: TextLine) -> TextLine:
    """The figures of an effect without the leading indent."""
    return (line[0]._replace(text=line[0].text[_INDENT:]), *line[1:]) if line else line


def event_detail(event: Event | None, events: Sequence[Event], width: int, height: int) -> list[TextLine]:
    """Time and full text of an event; for a change or an effect, the card with levels and intervals."""
    if event is None:
        return []
    when = f"{local_time(event.at, '%H:%M:%S')}, {hms(event.elapsed_seconds)} into the run"
    head: TextLine = (event_badge(event), TextSpan(f" {event.kind}  ", "title"), TextSpan(when, "muted"))
    effect = effect_of(event, events)
    if effect is not None:
        return [*effect_lines(effect, width, height - 1), pad_line((TextSpan(when, "muted"),), width)][
            :height
        ]
    text = [(TextSpan(piece),) for piece in wrap_text(event.text, width)]
    if event.kind in CHANGE_KINDS:
        text.append((TextSpan(_without_effect(event, events), "muted"),))
    return [pad_line(line, width) for line in (head, *text)][:height]


def _without_effect(event: Event, events: Sequence[Event]) -> str:
    """The reason why the effect of a change is not known (yet)."""
    for each in events:
        if each.not_measured and each.marker == event.marker:
            return f"Its effect was not measured: {each.not_measured}."
    return "Its effect is not measured yet: the load has to settle first."


def effect_of(event: Event, events: Sequence[Event]) -> Effect | None:
    """The effect of an event, or of the change that it reports."""
    if event.effect is not None or event.marker is None:
        return event.effect
    return next(
        (each.effect for each in reversed(events) if each.effect and event.marker in each.effect.markers),
        None,
    )


def figures_text(view: View) -> str:
    """The figures at the cursor or of the newest sample, durability, and the shown effect, as text to
    copy.
    """
    point = pointed_sample(view)
    if point is None:
        return ""
    # All known figures with their names.
    shown = {each.title: each for each in (*measures_of(view.headline)[:1], TPS, QPS, *PERCENTILES, FSYNCS)}
    known = ((each, each.value(point)) for each in shown.values())
    lines = [
        _run_line(view, point),
        ", ".join(f"{each.title} {each.text(value)}" for each, value in known if value is not None),
    ]
    if view.durability:
        values = ", ".join(f"{each.name}={each.value}" for each in view.durability)
        lines.append(f"{values} ({'at risk' if view.at_risk else 'durable'})")
    if view.effect is not None:
        lines += effect_text_lines(view.effect)
    return "\n".join(lines) + "\n"


def effect_text_lines(effect: Effect) -> list[str]:
    """An effect as text, one line per figure."""
    head = f"effect of {', '.join(map(str, effect.markers))}: {effect.change}"
    rows = [
        f"  {figure_named(one.figure).brief}: {before_after_text(one)}, {verdict_text(one)}"
        for one in effect.comparisons
    ]
    return [head, *rows]


def pointed_sample(view: View) -> ChartPoint | None:
    """The point at the cursor; without a cursor the newest point."""
    if view.chart_state.cursor is None:
        return view.points[-1] if view.points else None
    found = view.history.between(*view.chart_state.cursor)
    return found[-1] if found else None


def _run_line(view: View, point: ChartPoint) -> str:
    info = view.server_info
    at = ""
    if view.sample is not None:
        moment = view.sample.at - view.sample.elapsed_seconds + point.elapsed_seconds
        at = f", {local_time(moment)}"
    return (
        f"{info.flavour} {info.version}, {view.plan.profile}, {view.data_set}, "
        f"{pluralize(view.status.threads, 'thread')}, {hms(point.elapsed_seconds)} into the run{at}"
    )
