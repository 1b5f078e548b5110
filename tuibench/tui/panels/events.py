"""The last events, newest first; a change carries the number of its line in the charts."""

from tuibench.model.event import Event, EventKind
from tuibench.tui.spans import Line, Span, pad, shorten
from tuibench.tui.view import View
from tuibench.units import clock

_BADGE_WIDTH = 3
_GLYPHS = {
    EventKind.ERRORS: ("▲", "warn"),
    EventKind.WARNING: ("▲", "warn"),
    EventKind.RECONNECT: ("▲", "warn"),
    EventKind.RESTART: ("▲", "risk"),
    EventKind.FOREIGN: ("▲", "warn"),
    EventKind.EFFECT: ("Δ", "ok"),
}


def events(view: View, width: int, height: int) -> list[Line]:
    """As many of the newest events as there are rows."""
    listed = _from_cursor(view)
    newest = reversed(listed[-height:]) if height > 0 else iter(())
    lines = [_line(event, width, here=view.lens.points_at(event.elapsed_seconds)) for event in newest]
    if not lines:
        return [pad((Span("No events yet.", "muted"),), width)]
    return lines


def badge(event: Event) -> Span:
    """The number of its line in the charts, or a glyph for its kind."""
    if event.marker is not None:
        return Span(str(event.marker), "badge")
    return Span(*_GLYPHS.get(event.kind, ("·", "muted")))


def _from_cursor(view: View) -> tuple[Event, ...]:
    """The events up to the newest one that the cursor points at; all, where it points at none."""
    pointed = (
        n for n in range(len(view.events), 0, -1) if view.lens.points_at(view.events[n - 1].elapsed_seconds)
    )
    return view.events[: next(pointed, len(view.events))]


def _line(event: Event, width: int, *, here: bool) -> Line:
    _, role = _GLYPHS.get(event.kind, ("·", "muted"))
    label = (badge(event),)
    time = f"{clock(event.elapsed_seconds):>6} "
    text_role = role if role in ("warn", "risk") else ""
    room = width - _BADGE_WIDTH - len(time) - 1
    when = Span(time, "reading" if here else "muted")
    text = Span(shorten(event.text, room), text_role)
    return pad((*pad(label, _BADGE_WIDTH), when, Span(" "), text), width)
