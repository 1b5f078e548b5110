"""Charts of figures that the operator selects from the lists: stacked, on the run's time axis.

Each chart has a place, counted from the top; the view determines its figure, so a place can be empty.
"""

from collections.abc import Sequence

from tuibench.tui.charts.figures.table import Figure, figure_of, figure_value
from tuibench.tui.panels.load.measures import Measure
from tuibench.tui.panels.plots.time_chart import time_chart
from tuibench.tui.text.spans import TextLine, TextSpan, justify, pad_line, shorten
from tuibench.tui.view import View

ROLE = "server"


def figure_measure(key: str) -> Measure | None:
    """The measure of a figure's chart; None for an unknown key."""
    figure = figure_of(key)
    if figure is None:
        return None
    return Measure(
        key,
        ROLE,
        figure.title,
        figure.section,
        lambda point: figure_value(key, point.figures, point.lags),
        lambda value: (figure.write(value), ""),
        figure.axis,
        lambda _: (),
        may_rise=not figure.is_rate,
        is_bytes=figure.is_bytes,
    )


def figure_chart(
    keys: Sequence[str],
    place: int,
    view: View,
    width: int,
    height: int,
    *,
    numbered: bool = False,
    ascii_only: bool = False,
) -> list[TextLine]:
    """The chart at a place; empty if there is none."""
    measure = figure_measure(keys[place]) if place < len(keys) else None
    if measure is None:
        return []
    return time_chart(measure, view, width, height, numbered=numbered, ascii_only=ascii_only)


def figure_title(keys: Sequence[str], place: int, view: View, width: int, height: int) -> list[TextLine]:
    """Label left of the chart: name, current value, and heading in the list."""
    figure = figure_of(keys[place]) if place < len(keys) else None
    if figure is None:
        return []
    value = figure_value(figure.key, view.points[-1].figures, view.points[-1].lags) if view.points else None
    number = TextSpan(figure.write(value), ROLE if value is not None else "muted")
    if height == 1:
        return [_in_a_line(figure, number, width)]
    lines: list[TextLine] = [
        (TextSpan(shorten(figure.title, width - 2), "strong"),),
        (number,),
        (TextSpan(shorten(figure.section, width - 2), "muted"),),
    ]
    return [pad_line(line, width) for line in lines][:height]


def _in_a_line(figure: Figure, number: TextSpan, width: int) -> TextLine:
    title = shorten(figure.title, max(width - 3 - len(number.text), 1))
    return pad_line(justify((TextSpan(title, "strong"),), (number,), width - 2), width)
