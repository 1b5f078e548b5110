"""Events panel: the newest events; a change has the number of its marker in the charts.

Also the filtered timeline of the events screen, and the details of one event.
"""

from collections.abc import Sequence

import msgspec

from tuibench.metrics.inference.messages import brief_change
from tuibench.model.event import CHANGE_KINDS, Event, EventKind
from tuibench.model.experiments.effect import Effect, EffectFigure
from tuibench.tui.panels.effect import difference_role, effect_lines, percent_text
from tuibench.tui.panels.selection import Selection, first_visible
from tuibench.tui.text.spans import (
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
from tuibench.units import hms, local_time

_BADGE_WIDTH = 3
_GLYPHS = {
    EventKind.ERRORS: ("▲", "warn"),
    EventKind.WARNING: ("▲", "warn"),
    EventKind.RECONNECT: ("▲", "warn"),
    EventKind.RESTART: ("▲", "risk"),
    EventKind.FOREIGN: ("▲", "warn"),
    EventKind.EFFECT: ("Δ", "muted"),
}
_SHORT_FIGURES = {
    EffectFigure.TPS: "TPS",
    EffectFigure.QPS: "QPS",
    EffectFigure.P95: "p95",
    EffectFigure.FSYNCS: "fsyncs",
    EffectFigure.FSYNC_RATE: "fsyncs/s",
}
PROBE_PREFIX = "probe: "
"""Prefix of a probe's event texts: of its steps, and of its result."""
_FIGURE_CELLS = 8
"""Cells of a difference in a row: −98 %, +1,234 %."""
_FEWEST_TEXT_CELLS = 24
_INDENT = 2
"""Indent before each name of a figure."""


def events_panel(view: View, width: int, height: int) -> list[TextLine]:
    """The newest events that fit; the effect of a change is in the row of that change."""
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
    """Events up to the newest one at the cursor; all without a cursor.

    An effect, or the reason why it is missing, is part of the row of its change, if that is still listed.
    """
    changes = {event.marker for event in view.events if event.kind in CHANGE_KINDS}
    rows = tuple(
        event
        for event in one_entry_a_probe(view.events)
        if event.kind is not EventKind.EFFECT or event.marker not in changes
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
    change = event.text
    figures: TextLine = ()
    if effect is not None and effect.markers[-1] == event.marker:
        change, figures = effect.change, effect_figures(effect, room - _FEWEST_TEXT_CELLS)
    elif (state := _effect_state(view, event)) and room - len(state) >= _FEWEST_TEXT_CELLS:
        figures = (TextSpan(state, "muted"),)
    room_for_text = room - line_width(figures) - bool(figures)
    text = TextSpan(shorten(brief_change(change, room_for_text), room_for_text), text_role)
    return (*head, *justify((text,), figures, room))


def _effect_state(view: View, event: Event) -> str:
    """The state of a change's effect that is not known; empty if it is, or if the event is no change."""
    if event.kind not in CHANGE_KINDS or event.marker is None:
        return ""
    if view.effect_progress is not None and event.marker in view.effect_progress.markers:
        return "measuring"
    is_missing = any(each.not_measured and each.marker == event.marker for each in reversed(view.events))
    return "not measured" if is_missing else ""


def one_entry_a_probe(events: Sequence[Event]) -> list[Event]:
    """The events with the steps of each probe merged into one: the newest step, and the number of steps."""
    found: list[Event] = []
    steps = 0
    for event in events:
        if event.kind is EventKind.PROBE:
            steps += 1
            if steps > 1:
                place = max(n for n, each in enumerate(found) if each.kind is EventKind.PROBE)
                del found[place]
                newest = event.text.removeprefix(PROBE_PREFIX)
                event = msgspec.structs.replace(
                    event, text=f"{PROBE_PREFIX}{steps} steps, the last at {newest}"
                )
        elif event.text.startswith(PROBE_PREFIX):
            steps = 0
        found.append(event)
    return found


def effect_figures(effect: Effect, room: int) -> TextLine:
    """Differences in columns, as many as fit; those that are not significant are grey."""
    line: TextLine = ()
    for one in effect.comparisons:
        name = TextSpan(f"  {_SHORT_FIGURES[one.figure]}", "muted")
        cell = (name, TextSpan(f"{percent_text(one):>{_FIGURE_CELLS}}", difference_role(one)))
        if line_width((*line, *cell)) > room:
            break
        line = (*line, *cell)
    return line


PROBLEM_KINDS = frozenset(
    {
        EventKind.ERRORS,
        EventKind.RECONNECT,
        EventKind.RESTART,
        EventKind.WARNING,
        EventKind.FOREIGN,
    }
)
EVENT_FILTERS: tuple[tuple[str, frozenset[EventKind]], ...] = (
    ("all", frozenset(EventKind)),
    ("changes", CHANGE_KINDS),
    ("effects", frozenset({EventKind.EFFECT})),
    ("problems", PROBLEM_KINDS),
    ("marks", frozenset({EventKind.MARK})),
)
"""Filters: name, and the kinds of events included."""

_TIMELINE_BADGE_WIDTH, _TIME_WIDTH, _KIND_WIDTH = 4, 10, 11
_EMPTY_TEXTS = {
    "all": "No events yet.",
    "effects": "No effects yet: the effect of a change is measured after the load has settled.",
    "problems": "No errors, no reconnects, no restarts, no changes by other clients.",
    "marks": "No marks yet: space adds one.",
}


def filtered_events(events: Sequence[Event], place: int) -> list[Event]:
    """The events of a filter, newest first; a probe counts as one event."""
    kinds = EVENT_FILTERS[place][1]
    return [event for event in reversed(one_entry_a_probe(events)) if event.kind in kinds]


def event_ids(events: Sequence[Event]) -> list[int]:
    """A stable number for each event: its time in microseconds, or the next free number."""
    found: dict[int, None] = {}
    for event in events:
        number = round(event.at * 1e6)
        while number in found:
            number += 1
        found[number] = None
    return list(found)


def filter_line(events: Sequence[Event], place: int, width: int, height: int) -> list[TextLine]:
    """The filters with their counts; a click selects one."""
    parts = []
    for number, (name, _) in enumerate(EVENT_FILTERS):
        count = len(filtered_events(events, number))
        role = "selected" if number == place else "muted"
        parts.append((TextSpan(f" {name} {count} ", role, f"screen.filter({number})"),))
    return [pad_line(join_parts(parts, TextSpan(" ")), width)][:height]


def timeline(
    events: Sequence[Event], place: int, selection: Selection, width: int, height: int
) -> list[TextLine]:
    """One line per event of a filter, scrolled so that the selected one is visible."""
    listed = filtered_events(events, place)
    if not listed:
        return [
            pad_line((TextSpan(_EMPTY_TEXTS.get(EVENT_FILTERS[place][0], "None yet."), "muted"),), width)
        ][:height]
    first = first_visible(selection.place, len(listed), height)
    return [
        _timeline_row(event, number, width, chosen=number == selection.place)
        for number, event in enumerate(listed[first : first + height], first)
    ]


def _timeline_row(event: Event, number: int, width: int, *, chosen: bool) -> TextLine:
    label = event_badge(event)
    line: TextLine = (
        TextSpan("▸ " if chosen else "  "),
        *pad_line((label,), _TIMELINE_BADGE_WIDTH),
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
    """Why a change has no effect (yet)."""
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
