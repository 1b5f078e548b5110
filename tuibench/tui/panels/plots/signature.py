"""What a change did, drawn into a chart: the means before and after it, the difference beside its number.

The means are lines over the columns of the windows that were compared, at their height. They are those of the
effect that is shown, pinned or newest. A difference that is not significant is grey.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tuibench.model.experiments.effect import Effect, EffectFigure
from tuibench.tui.charts.history import ChartPoint
from tuibench.tui.charts.time_grid import TimeGrid
from tuibench.tui.panels.effect import difference_role, percent_text
from tuibench.tui.panels.load.measures import Measure
from tuibench.tui.view import View, change_markers, view_grid

LINE_GLYPHS = "▁━▔"
"""A line low in its cell, in its middle, at its top."""

FIGURES = {"tps": EffectFigure.TPS, "p95": EffectFigure.P95, "fsyncs": EffectFigure.FSYNCS}
"""The figure of an effect that a measure shows, by the measure's name."""


class MeanLine(NamedTuple):
    """The mean of a window over its columns `first` to `last`, and its value as text beside the marker."""

    first: int
    last: int
    value: float
    label: str
    is_before: bool

    def label_start(self, marker: int) -> int:
        """The label ends before the marker, or starts after it."""
        return marker - len(self.label) if self.is_before else marker + 1

    def place(self, top: float, height: int) -> tuple[int, str]:
        """The row from the bottom, and the glyph, of a chart that ends at `top`."""
        level = min(max(self.value / top, 0.0), 1.0) * height if top > 0 else 0.0
        row = min(int(level), height - 1)
        return row, LINE_GLYPHS[min(int((level - row) * len(LINE_GLYPHS)), len(LINE_GLYPHS) - 1)]


class TickRange(NamedTuple):
    """The numbers of the first and the last tick of a window."""

    first: int
    last: int


class Signature(NamedTuple):
    """The mark that a change leaves in one chart: the column of its line, the means, the difference."""

    marker: int
    means: tuple[MeanLine, ...]
    difference: str
    role: str


def signature_of(measure: Measure, view: View, columns: int) -> Signature | None:
    """That of the effect that is shown; None without one, or where its change is not on the chart."""
    effect = view.effect
    if effect is None or measure.name not in SIGNED_MEASURES:
        return None
    number = effect.markers[-1]
    marker = next((column for column, each in change_markers(view, columns).items() if each == number), None)
    if marker is None:
        return None
    grid, levels = view_grid(view, columns), _levels(measure, view, effect)
    if levels is None:
        return None
    write = _writer(measure)
    means = tuple(
        line
        for window, value, is_before in zip(effect_windows(view, effect), levels, (True, False), strict=True)
        if (line := _mean_line(grid, window, value, write, is_before=is_before)) is not None
    )
    one = effect.comparison(FIGURES[measure.name]) if measure.name in FIGURES else None
    return Signature(marker, means, percent_text(one) if one else "", difference_role(one))


SIGNED_MEASURES = frozenset({"tps", "qps", "p95", "fsyncs", "headline"})
"""What gets means: rates and p95, not the other percentiles, of which an effect says nothing."""


def effect_windows(view: View, effect: Effect) -> tuple[TickRange, TickRange]:
    """The ticks of the compared windows: those that had ended before the change, and those after settling."""
    interval = view.plan.interval_seconds
    began = next(
        (event.elapsed_seconds for event in view.events if event.marker == effect.markers[0]),
        effect.at_seconds,
    )
    count = max(1, round(effect.window_seconds / interval))
    last = math.floor(began / interval)
    first = round((effect.at_seconds + effect.settling_seconds) / interval) + 1
    return TickRange(last - count + 1, last), TickRange(first, first + count - 1)


def _levels(measure: Measure, view: View, effect: Effect) -> tuple[float, float] | None:
    """The means as the effect has them; of what it does not compare, those of the chart's points."""
    if measure.name in FIGURES:
        one = effect.comparison(FIGURES[measure.name])
        return (one.before, one.after) if one is not None else None
    before, after = (_mean(measure, view.history.between(*window)) for window in effect_windows(view, effect))
    return (before, after) if before is not None and after is not None else None


def _mean(measure: Measure, points: Sequence[ChartPoint]) -> float | None:
    known = [
        (value, point.seconds)
        for point in points
        if (value := measure.value(point)) is not None and point.seconds > 0
    ]
    seconds = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / seconds if seconds else None


def _mean_line(
    grid: TimeGrid, ticks: TickRange, value: float, write: Callable[[float], str], *, is_before: bool
) -> MeanLine | None:
    """As far as the window is on the chart."""
    first = max(0, grid.column_of(ticks.first))
    last = min(grid.columns - 1, grid.column_of(ticks.last) + grid.cells - 1)
    return MeanLine(first, last, value, f" {write(value)} ", is_before) if first <= last else None


def _writer(measure: Measure) -> Callable[[float], str]:
    return lambda value: " ".join(measure.big(value)).rstrip()
