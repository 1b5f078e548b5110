"""The card beside the events: two spans that the operator compared, else the newest effect."""

from collections.abc import Callable

from tuibench.model.effect import Comparison
from tuibench.tui.comparing import SpanDifference
from tuibench.tui.panels.effect import effect_card, verdict
from tuibench.tui.spans import Line, Span, joined, pad, wrapped
from tuibench.tui.view import View
from tuibench.units import clock, count, milliseconds

_NAME_WIDTH, _LEVELS_WIDTH = 6, 22
_GAP = Span("   ")


def card(view: View, width: int, height: int) -> list[Line]:
    """What is to be compared, as large as there is room: four lines, or two."""
    found = view.lens.difference
    if found is None:
        return effect_card(view, width, height)
    if found.reason:
        lines: list[Line] = [_title(view), *((Span(text, "warn"),) for text in wrapped(found.reason, width))]
    elif height < len(_rows(found)) + 1:
        lines = _brief(view, found)
    else:
        lines = [_title(view), *(_row(*row) for row in _rows(found)), (Span("esc ends it", "muted"),)]
    return [pad(line, width) for line in lines[:height]]


def _rows(found: SpanDifference) -> list[tuple[str, Comparison, Callable[[float | None], str]]]:
    rows = (("TPS", found.tps, count), ("QPS", found.qps, count), ("p95", found.p95, milliseconds))
    return [(name, one, write) for name, one, write in rows if one is not None]


def _title(view: View) -> Line:
    a, b = (f"{clock(start)}–{clock(end)}" for start, end in view.lens.spans)
    return (
        Span("A", "badge"),
        Span(f" {a}  →  ", "title"),
        Span("B", "badge"),
        Span(f" {b}", "title"),
    )


def _row(name: str, one: Comparison, write: Callable[[float | None], str]) -> Line:
    levels = f"{write(one.before)} → {write(one.after)}"
    return (
        Span(f"{name:<{_NAME_WIDTH}}", "muted"),
        Span(f"{levels:<{_LEVELS_WIDTH}}", "strong"),
        verdict(one),
    )


def _brief(view: View, found: SpanDifference) -> list[Line]:
    """The same in two lines."""
    parts = [(Span(f"{name} ", "muted"), verdict(one)) for name, one, _ in _rows(found)]
    return [joined((_title(view), *parts[:1]), _GAP), joined(parts[1:], _GAP)]
