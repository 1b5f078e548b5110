"""The big number left of a chart, with its details below it."""

from tuibench.tui.digits import ROWS, big
from tuibench.tui.panels.measures import Detail, Measure
from tuibench.tui.spans import Line, Span, pad, spread, width_of
from tuibench.tui.view import View


def figure(measure: Measure, view: View, width: int, height: int, *, ascii_only: bool = False) -> list[Line]:
    """Title, big digits, and as many details as the height allows with a free line below them."""
    value = measure.value(view.points[-1]) if view.points else None
    digits, unit = measure.big(value)
    role = measure.role if value is not None else "muted"
    rows = [_digits_row(row, role) for row in big(digits, ascii_only=ascii_only)]
    rows[-1] = (*rows[-1], Span(f" {unit}", role))
    room = max(height - 1 - ROWS - 1, 0)
    details = [_detail(detail, width) for detail in measure.details(view.load)[:room]] if view.load else []
    title = (Span(measure.title, "strong"), Span(f" {measure.unit}", "muted"))
    return [pad(line, width) for line in (title, *rows, *details)][:height]


def caption(measure: Measure, view: View, width: int, height: int) -> list[Line]:
    """The same in small, where there is a chart and little room: name and value, and what the name means."""
    value = measure.value(view.points[-1]) if view.points else None
    written = " ".join(measure.big(value)).rstrip()
    number = (Span(written, measure.role if value is not None else "muted"),)
    first = spread((Span(measure.title, "strong"),), number, width - 2)
    return [pad(line, width) for line in (first, (Span(measure.unit, "muted"),))][:height]


def _digits_row(row: str, role: str) -> Line:
    return (Span(row, role),)


def _detail(detail: Detail, width: int) -> Line:
    value = (Span(detail.value, "warn" if detail.alarm else ""),)
    return spread(
        (Span(detail.name, "warn" if detail.alarm else "muted"),), value, max(width, width_of(value))
    )
