"""One chart: the rule that marks the axis maximum, the bars, and the change markers through all of it."""

from collections.abc import Mapping

from tuibench.tui import drawing
from tuibench.tui.panels.measures import Measure
from tuibench.tui.spans import Line, Span
from tuibench.tui.view import View, markers, window
from tuibench.units import axis_maximum

AXIS_WIDTH = 7
"""Cells left of the bars, for the axis labels."""

SHADES = 8
"""A bar row's role is shade0 (the baseline) to shade7 (the top): one style a row keeps slow lines quick."""


def plot(
    measure: Measure, view: View, width: int, height: int, *, numbered: bool, ascii_only: bool = False
) -> list[Line]:
    """The chart in `width` × `height` cells; `numbered` puts the markers' numbers on its rule."""
    columns = max(width - AXIS_WIDTH, 1)
    values = [measure.value(point) if point else None for point in window(view, columns)]
    present = [value for value in values if value is not None]
    top = axis_maximum(max(present, default=0.0))
    changes = markers(view, columns)
    rows = drawing.bars(values, top, height - 1, ascii_only=ascii_only)
    label = measure.axis(top) if present else ""
    rule = _rule(columns, changes, numbered=numbered)
    body = [_row(drawing.strike(row, changes), number, height - 1) for number, row in enumerate(rows)]
    return [(_axis_label(label), *rule), *body]


def axis(view: View, width: int) -> Line:
    """The time axis below the last chart."""
    text = drawing.time_axis(max(width - AXIS_WIDTH, 1), view.plan.interval_seconds)
    return (Span(" " * AXIS_WIDTH), Span(text, "muted"))


def _axis_label(label: str) -> Span:
    return Span(f"{label:>{AXIS_WIDTH - 1}} ", "muted")


def _row(row: str, number: int, height: int) -> Line:
    is_baseline = number == height - 1
    shade = round((height - 1 - number) / max(height - 1, 1) * (SHADES - 1))
    return (_axis_label("0" if is_baseline else ""), Span(row, f"shade{shade}"))


def _rule(width: int, changes: Mapping[int, int], *, numbered: bool) -> Line:
    if not numbered:
        return (Span(drawing.strike(drawing.RULE * width, changes, drawing.CROSSING), "faint"),)
    spans: list[Span] = []
    end = 0
    for start, text in sorted(drawing.flags(changes, width).items()):
        spans += [Span(drawing.RULE * (start - end), "faint"), Span(text, "badge")]
        end = start + len(text)
    return (*spans, Span(drawing.RULE * (width - end), "faint"))
