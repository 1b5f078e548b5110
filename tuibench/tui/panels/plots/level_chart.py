"""Chart of a probe: throughput or p95 against the load level.

The level axis is logarithmic, so a doubling has the same width everywhere. Measured steps are dots with a bar
for their 95 % interval (rings on the way back), the current one is a plus; a fine line is the fitted curve,
or joins the steps; the knee is a vertical line, an objective a horizontal one.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from tuibench.metrics.thresholds.absolute import parse_objectives
from tuibench.model.experiments.probe import ProbeState, ProbeStep, StepPurpose
from tuibench.model.schedule import Quantity
from tuibench.tui.text.braille import DOTS_ACROSS, DOTS_HIGH, DotGrid
from tuibench.tui.text.spans import TextLine, TextSpan, join_parts, merge_cells, pad_line
from tuibench.tui.view import View
from tuibench.units import axis_maximum, count, milliseconds, si

STEP_DOT, BACK_RING, CURRENT_MARK, CURVE_DOT, KNEE_LINE, OBJECTIVE_LINE = "●", "○", "+", "⠒", "│", "─"
AXIS_HEADROOM = 1.15
"""Factor by which the axis exceeds the highest level."""

LEVEL_UNITS = {Quantity.THREADS: "threads", Quantity.RATE: "rate/s"}
"""Labels of the level axis."""
AXIS_WIDTH = 1 + max(map(len, LEVEL_UNITS.values()))
"""Cells left of the charts, for the axis labels."""

LOW = "low"
"""The confidence at which a result is inconclusive."""

GAP = TextSpan(" · ", "faint")


class ProbeFigure(NamedTuple):
    """One of the two charts: its value for a step and for the current step, and its format."""

    title: str
    role: str
    of: Callable[[ProbeStep], float | None]
    now: Callable[[ProbeState], float | None]
    axis: Callable[[float], str]
    bound: str = ""
    is_throughput: bool = False


THROUGHPUT = ProbeFigure(
    "TPS", "tps", lambda step: step.tps, lambda state: state.tps, si, "tps", is_throughput=True
)
LATENCY = ProbeFigure(
    "p95", "latency", lambda step: step.p95_ms, lambda state: state.p95_ms, milliseconds, "p95"
)


class CellGrid:
    """Cells of a chart; later content covers earlier content."""

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height
        self._rows = [[(" ", "")] * width for _ in range(height)]

    def put(self, column: int, row: int, glyph: str, role: str) -> None:
        """Set a cell; `row` 0 is the lowest. Positions outside are ignored."""
        if 0 <= column < self._width and 0 <= row < self._height:
            self._rows[self._height - 1 - row][column] = (glyph, role)

    def put_dots(self, dots: DotGrid, role: str) -> None:
        """Draw a braille drawing."""
        for (column, row), glyph in dots.cells().items():
            self.put(column, row, glyph, role)

    def lines(self) -> list[TextLine]:
        return [merge_cells(row) for row in self._rows]


class LevelScale(NamedTuple):
    """Position of a level and a value, in cells and in dots."""

    lowest: float
    highest: float
    top: float
    width: int
    height: int

    def column(self, level: float) -> int:
        return round(self._across(level) * (self.width - 1))

    def row(self, value: float) -> int:
        return round(value / self.top * (self.height - 1))

    def dot(self, level: float, value: float) -> tuple[int, int]:
        """Dot at the centre of the cell given by `column` and `row`."""
        across, up = self._across(level) * (self.width - 1), value / self.top * (self.height - 1)
        return round((across + 0.5) * DOTS_ACROSS - 0.5), round((up + 0.5) * DOTS_HIGH - 0.5)

    def _across(self, level: float) -> float:
        span = math.log(self.highest / self.lowest)
        return math.log(max(level, 1e-9) / self.lowest) / span if span else 0.0


def probe_chart(figure: ProbeFigure, view: View, width: int, height: int) -> list[TextLine]:
    """One of the two charts, with its axis on the left."""
    state, columns = view.probe, max(width - AXIS_WIDTH, 1)
    if state is None or height < 2:
        return [()] * height
    scale = _chart_scale(figure, state, columns, height - 1)
    cells = CellGrid(columns, height - 1)
    _draw_lines(figure, state, scale, cells)
    _draw_steps(figure, state, scale, cells)
    head: TextLine = (
        TextSpan(f"{figure.axis(scale.top):>{AXIS_WIDTH - 1}} ", "muted"),
        *_chart_caption(figure, state),
    )
    body = [(TextSpan(" " * AXIS_WIDTH), *line) for line in cells.lines()]
    body[-1] = (TextSpan(f"{'0':>{AXIS_WIDTH - 1}} ", "muted"), *body[-1][1:])
    return [pad_line(line, width) for line in (head, *body)]


def level_axis(view: View, width: int, height: int) -> list[TextLine]:
    """Level axis below both charts: the measured levels that fit."""
    state, columns = view.probe, max(width - AXIS_WIDTH, 1)
    if state is None:
        return [()]
    scale = _chart_scale(THROUGHPUT, state, columns, 1)
    text, end = "", 0
    for level in sorted({step.level for step in state.steps if step.level} | {state.level or 1.0}):
        label, column = si(level).replace(" ", ""), scale.column(level)
        start = min(max(column - len(label) // 2, 0), columns - len(label))
        if start >= end:
            text = f"{text:<{start}}{label}"
            end = start + len(label) + 1
    unit = TextSpan(f"{LEVEL_UNITS[state.order.by]:>{AXIS_WIDTH - 1}} ", "muted")
    return [pad_line((unit, TextSpan(text, "muted")), width)][:height]


def is_inconclusive(state: ProbeState) -> bool:
    """True if the probe is over and its knee is not reliable."""
    return state.result is not None and state.result.confidence == LOW


def _chart_scale(figure: ProbeFigure, state: ProbeState, columns: int, rows: int) -> LevelScale:
    levels = [step.level for step in state.steps if step.level] + ([state.level] if state.level else [])
    values = [value for step in state.steps if (value := figure.of(step)) is not None]
    if figure.is_throughput:
        values += [_interval(step)[1] for step in state.steps]
    values += [value for value in (figure.now(state), *_objective_limits(figure, state)) if value is not None]
    lowest = min(levels, default=1.0)
    highest = max(*levels, 2 * lowest) if levels else 2.0
    return LevelScale(lowest, highest * AXIS_HEADROOM, axis_maximum(max(values, default=0.0)), columns, rows)


def _interval(step: ProbeStep) -> tuple[float, float]:
    half = step.tps * min(step.half_width or 0.0, 1.0)
    return step.tps - half, step.tps + half


def _draw_lines(figure: ProbeFigure, state: ProbeState, scale: LevelScale, cells: CellGrid) -> None:
    """Draw objective, knee, and the fine line through the steps."""
    for value in _objective_limits(figure, state):
        for column in range(scale.width):
            cells.put(column, scale.row(value), OBJECTIVE_LINE, "warn")
    knee = _knee_level(state)
    if knee is not None:
        for row in range(scale.height):
            cells.put(scale.column(knee), row, KNEE_LINE, "muted" if is_inconclusive(state) else "ok")
    dots = DotGrid(scale.width, scale.height)
    for (level, value), (following, after) in pairwise(_curve(figure, state)):
        dots.line(scale.dot(level, value), scale.dot(following, after))
    cells.put_dots(dots, "server" if _has_law(figure, state) else "muted")


def _draw_steps(figure: ProbeFigure, state: ProbeState, scale: LevelScale, cells: CellGrid) -> None:
    """Draw the measured steps with their bars, and the current one."""
    if figure.is_throughput:
        for step in state.steps:
            if step.level and step.half_width is not None:
                _draw_bar(step, figure, scale, cells)
    for step in state.steps:
        measured = figure.of(step)
        if measured is not None and step.level:
            is_back = step.purpose is StepPurpose.BACK
            role = "muted" if is_back else figure.role
            cells.put(scale.column(step.level), scale.row(measured), BACK_RING if is_back else STEP_DOT, role)
    now = figure.now(state)
    if now is not None and state.level and state.result is None:
        cells.put(scale.column(state.level), scale.row(now), CURRENT_MARK, "strong")


def _draw_bar(step: ProbeStep, figure: ProbeFigure, scale: LevelScale, cells: CellGrid) -> None:
    """Draw the interval of a step, unless it is shorter than the dot."""
    dots = DotGrid(scale.width, scale.height)
    column = scale.column(step.level) * DOTS_ACROSS
    low, high = (scale.dot(step.level, value)[1] for value in _interval(step))
    dots.line((column, low), (column, high))
    cells.put_dots(dots, "muted" if step.purpose is StepPurpose.BACK else figure.role)


def _curve(figure: ProbeFigure, state: ProbeState) -> list[tuple[float, float]]:
    """The fitted curve if there is one, otherwise the steps of the way up in order."""
    if figure.is_throughput and state.fit is not None and state.fit.curve:
        return list(state.fit.curve)
    steps = [step for step in state.steps if step.level and step.purpose is not StepPurpose.BACK]
    return sorted((step.level, value) for step in steps if (value := figure.of(step)) is not None)


def _has_law(figure: ProbeFigure, state: ProbeState) -> bool:
    return figure.is_throughput and state.fit is not None and bool(state.fit.curve)


def _knee_level(state: ProbeState) -> float | None:
    """Level at which the knee is drawn; None if the client was the limit."""
    if state.result is not None:
        return state.result.knee.level if state.result.knee else None
    return state.knee


def _objective_limits(figure: ProbeFigure, state: ProbeState) -> list[float]:
    """The objectives for this figure."""
    return [each.limit for each in parse_objectives(state.order.slo) if each.figure == figure.bound]


def _chart_caption(figure: ProbeFigure, state: ProbeState) -> TextLine:
    """Name of the chart, and legend of its lines."""
    knee = _knee_level(state)
    parts: list[TextLine] = [(TextSpan(figure.title, figure.role),)]
    if figure.is_throughput:
        unsure = is_inconclusive(state)
        text = f"{KNEE_LINE} knee {count(knee)}{'?' if unsure else ''}"
        parts.append((TextSpan(text, "muted" if unsure else "ok"),) if knee is not None else ())
        if state.fit is not None and not state.fit.refusal:
            peak = f", peak at {count(state.fit.peak_level)}" if state.fit.peak_level else ""
            law = f"{CURVE_DOT} USL σ {state.fit.sigma:.3f} κ {state.fit.kappa:.2g}{peak}"
            parts.append((TextSpan(law, "server"),))
    parts += [(TextSpan(f"{OBJECTIVE_LINE} {text}", "warn"),) for text in _slo_texts(figure, state)]
    return join_parts(parts, GAP)


def _slo_texts(figure: ProbeFigure, state: ProbeState) -> list[str]:
    return [each.text for each in parse_objectives(state.order.slo) if each.figure == figure.bound]
