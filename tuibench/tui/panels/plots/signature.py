"""Effect of a change drawn into a chart: the means before and after it, and the difference beside its marker.

The means are horizontal lines over the columns of the compared windows. They belong to the shown effect,
pinned or newest. A difference that is not significant is grey.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tuibench.model.experiments.effect import Effect, EffectFigure
from tuibench.tui.chart_columns import change_markers, view_grid
from tuibench.tui.charts.history import ChartPoint
from tuibench.tui.charts.time_grid import TimeGrid
from tuibench.tui.panels.effect import difference_role, percent_text
from tuibench.tui.panels.load.measures import Measure
from tuibench.tui.view import View

LINE_GLYPHS = "▁━▔"
"""A line at the bottom, in the middle, and at the top of a cell."""

FIGURES = {"tps": EffectFigure.TPS, "p95": EffectFigure.P95, "fsyncs": EffectFigure.FSYNCS}
"""Figure of an effect by the name of the measure that shows it."""


class MeanLine(NamedTuple):
    """Mean of a window over its columns `first` to `last`, and its value as text beside the marker."""

    first: int
    last: int
    value: float
    label: str
    is_before: bool

    def label_start(self, marker: int) -> int:
        """First column of the label, which ends before the marker or starts after it."""
        return marker - len(self.label) if self.is_before else marker + 1

    def place(self, top: float, height: int) -> tuple[int, str]:
        """Row from the bottom, and glyph, in a chart whose maximum is `top`."""
        level = min(max(self.value / top, 0.0), 1.0) * height if top > 0 else 0.0
        row = min(int(level), height - 1)
        return row, LINE_GLYPHS[min(int((level - row) * len(LINE_GLYPHS)), len(LINE_GLYPHS) - 1)]


class TickRange(NamedTuple):
    """Numbers of the first and the last tick of a window."""

    first: int
    last: int


class Signature(NamedTuple):
    """Mark of a change in one chart: the column of its marker, the means, the difference."""

    marker: int
    means: tuple[MeanLine, ...]
    difference: str
    role: str


def signature_of(measure: Measure, view: View, columns: int) -> Signature | None:
    """Signature of the shown effect; None without an effect, or if its change is not on the chart."""
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
"""Measures that get means: rates and p95; an effect has no other percentiles."""


def effect_windows(view: View, effect: Effect) -> tuple[TickRange, TickRange]:
    """Ticks of the compared windows: those that ended before the change, and those after settling."""
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
    """Means of the effect; for a figure that it does not compare, means of the chart's points."""
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
    """The visible part of a window's mean; None if there is none."""
    first = max(0, grid.column_of(ticks.first))
    last = min(grid.columns - 1, grid.column_of(ticks.last) + grid.cells - 1)
    return MeanLine(first, last, value, f" {write(value)} ", is_before) if first <= last else None


def _writer(measure: Measure) -> Callable[[float], str]:
    return lambda value: " ".join(measure.big(value)).rstrip()
