"""The events of the run as a list that can be filtered, and all there is to know of one of them."""

from collections.abc import Sequence
from time import localtime, strftime

from tuibench.model.effect import Effect
from tuibench.model.event import CHANGES, Event, EventKind
from tuibench.tui.panels.effect import effect_lines
from tuibench.tui.panels.events import badge
from tuibench.tui.selection import Selection, first_shown
from tuibench.tui.spans import Line, Span, joined, pad, wrapped
from tuibench.units import clock

TROUBLE = frozenset(
    {
        EventKind.ERRORS,
        EventKind.RECONNECT,
        EventKind.RESTART,
        EventKind.WARNING,
        EventKind.FOREIGN,
    }
)
FILTERS: tuple[tuple[str, frozenset[EventKind]], ...] = (
    ("all", frozenset(EventKind)),
    ("changes", CHANGES),
    ("effects", frozenset({EventKind.EFFECT})),
    ("trouble", TROUBLE),
    ("marks", frozenset({EventKind.MARK})),
)
"""What can be looked at, and the kinds of events that belong to it."""

_BADGE_WIDTH, _TIME_WIDTH, _KIND_WIDTH = 4, 10, 11
_NOTHING = {
    "all": "No events yet.",
    "effects": "No effects yet: each change is followed by one, once the load has settled.",
    "trouble": "No trouble: no errors, no reconnects, no restarts, no changes by others.",
    "marks": "No marks yet: space puts one.",
}


def chosen_kinds(events: Sequence[Event], place: int) -> list[Event]:
    """The events of a filter, newest first."""
    kinds = FILTERS[place][1]
    return [event for event in reversed(events) if event.kind in kinds]


def ids(events: Sequence[Event]) -> list[int]:
    """A number for each event that stays its own: the microsecond, or the next one that is free."""
    found: dict[int, None] = {}
    for event in events:
        number = round(event.at * 1e6)
        while number in found:
            number += 1
        found[number] = None
    return list(found)


def filters(events: Sequence[Event], place: int, width: int, height: int) -> list[Line]:
    """The filters with their numbers; a click chooses one."""
    parts = []
    for number, (name, kinds) in enumerate(FILTERS):
        count = sum(event.kind in kinds for event in events)
        role = "selected" if number == place else "muted"
        parts.append((Span(f" {name} {count} ", role, f"screen.filter({number})"),))
    return [pad(joined(parts, Span(" ")), width)][:height]


def timeline(
    events: Sequence[Event], place: int, selection: Selection, width: int, height: int
) -> list[Line]:
    """A line for each event of a filter, the chosen one in sight."""
    listed = chosen_kinds(events, place)
    if not listed:
        return [pad((Span(_NOTHING.get(FILTERS[place][0], "None yet."), "muted"),), width)][:height]
    first = first_shown(selection.place, len(listed), height)
    return [
        _row(event, number, width, chosen=number == selection.place)
        for number, event in enumerate(listed[first : first + height], first)
    ]


def _row(event: Event, number: int, width: int, *, chosen: bool) -> Line:
    label = badge(event)
    line: Line = (
        Span("▸ " if chosen else "  "),
        *pad((label,), _BADGE_WIDTH),
        Span(f"{clock(event.elapsed_seconds):<{_TIME_WIDTH}}", "muted"),
        Span(f"{event.kind:<{_KIND_WIDTH}}", "muted"),
        Span(event.text, label.role if label.role in ("warn", "risk") else ""),
    )
    line = tuple(span._replace(action=f"screen.pick({number})") for span in pad(line, width))
    if not chosen:
        return line
    return tuple(span if span.role == "badge" else span._replace(role="selected") for span in line)


def detail(event: Event | None, events: Sequence[Event], width: int, height: int) -> list[Line]:
    """When and what in full; of a change or an effect, the card with levels and intervals."""
    if event is None:
        return []
    when = f"{strftime('%H:%M:%S', localtime(event.at))}, {clock(event.elapsed_seconds)} into the run"
    head: Line = (badge(event), Span(f" {event.kind}  ", "title"), Span(when, "muted"))
    effect = effect_of(event, events)
    if effect is not None:
        return [*effect_lines(effect, width, height - 1), pad((Span(when, "muted"),), width)][:height]
    text = [(Span(piece),) for piece in wrapped(event.text, width)]
    if event.kind in CHANGES:
        text.append((Span("Its effect is not known yet: the load has to settle first.", "muted"),))
    return [pad(line, width) for line in (head, *text)][:height]


def effect_of(event: Event, events: Sequence[Event]) -> Effect | None:
    """The effect that an event tells of, or that a change had."""
    if event.effect is not None or event.marker is None:
        return event.effect
    return next(
        (each.effect for each in reversed(events) if each.effect and event.marker in each.effect.markers),
        None,
    )
