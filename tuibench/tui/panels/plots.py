"""Plots: CPU, levels, charts of figures.

Stacked chart of this host's CPU usage over time: server, tuibench and other programs.

A cell has two halves, so that a chart of few rows still shows the shares.

Charts of figures that the operator selects from the lists: stacked, on the run's time axis.

Each chart has a place, counted from the top; the view determines its figure, so a place can be empty.

Chart of a probe: throughput or p95 against the load level.

The level axis is logarithmic, so a doubling has the same width everywhere. Measured steps are dots with a bar
for their 95 % interval (rings on the way back), the current one is a plus; a fine line is the fitted curve,
or joins the steps; the knee is a vertical line, an objective a horizontal one.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from tuibench.metrics.figures import read
from tuibench.metrics.thresholds import parse_objectives
from tuibench.model.probe import ProbeState, ProbeStep, StepPurpose
from tuibench.model.schedule import Quantity
from tuibench.tui import text as drawing
from tuibench.tui.charts import CpuShares
from tuibench.tui.figures import Figure, figure_of, figure_value
from tuibench.tui.panels.load import Measure
from tuibench.tui.panels.numbers import CPU_BAR_PARTS, cpu_parts, cpu_role
from tuibench.tui.panels.time_chart import AXIS_WIDTH, axis_label, cursor_column, overlay, time_chart
from tuibench.tui.text import (
    DOTS_ACROSS,
    DOTS_HIGH,
    DotGrid,
    TextLine,
    TextSpan,
    join_parts,
    justify,
    merge_cells,
    pad_line,
    shorten,
)
from tuibench.tui.view import View, change_markers, chart_points
from tuibench.units import DASH, axis_maximum, count, milliseconds, percent, si

HALVES = 2
STACKED = "stack-"
"""Prefix of a process group's role: its colour in the chart, dimmer than that of the figures."""
_IDLE = len(CPU_BAR_PARTS)


def cpu_chart(
    view: View, width: int, height: int, *, ascii_only: bool = False, numbered: bool = False
) -> list[TextLine]:
    """Chart from 0 to 100 % of the host; a column without data is empty. `numbered` puts the markers' numbers
    on its top row.
    """
    cell = _plain_cell if ascii_only else _cell
    columns = max(width - AXIS_WIDTH, 1)
    owners = [_owners(point.cpu if point else None, HALVES * height) for point in chart_points(view, columns)]
    changes, cursor = change_markers(view, columns), cursor_column(view, columns)
    lines: list[TextLine] = []
    for row in range(height - 1, -1, -1):
        cells = [cell(each[HALVES * row], each[HALVES * row + 1]) for each in owners]
        for column in changes:
            cells[column] = (drawing.MARKER, "muted")
        if numbered and row == height - 1:
            for start, number in drawing.marker_labels(changes, columns).items():
                cells[start : start + len(number)] = [(digit, "badge") for digit in number]
        line = merge_cells(cells)
        if cursor is not None:
            line = overlay(line, cursor, drawing.CURSOR, columns, "strong")
        label = "100 %" if row == height - 1 else "0" if row == 0 else ""
        lines.append((axis_label(label), *line))
    return lines


def cpu_figure(view: View, width: int, height: int) -> list[TextLine]:
    """Total percentage, and the share of each process group."""
    host = view.host
    if host is None:
        return [pad_line((TextSpan("CPU ", "strong"), TextSpan(DASH, "muted")), width)]
    busy = read("cpu_total", host) or 0.0
    total = TextSpan(percent(busy), cpu_role(busy))
    lines = [justify((TextSpan("CPU", "strong"),), (total,), width - 2)]
    for (name, glyph, role), value in zip(CPU_BAR_PARTS, cpu_parts(host), strict=True):
        written = TextSpan(DASH if value is None else f"{value:.0f}", "")
        lines.append(justify((TextSpan(f"{glyph} ", role), TextSpan(name, "muted")), (written,), width - 4))
    return [pad_line(line, width) for line in lines[:height]]


def _owners(shares: CpuShares | None, halves: int) -> list[int]:
    """Process group of each half row, from the bottom; a share that rounds to zero is not shown."""
    if shares is None:
        return [_IDLE] * halves
    runs = drawing.share_runs([(share, str(owner)) for owner, share in enumerate(shares)], halves, str(_IDLE))
    return [int(owner) for owner in "".join(runs)]


def _cell(lower: int, upper: int) -> tuple[str, str]:
    """Glyph and role of a cell: an idle half is empty; two groups share a cell by its two colours."""
    if lower == upper:
        return (" ", "") if lower == _IDLE else ("█", STACKED + _ROLES[lower])
    if upper == _IDLE:
        return "▄", STACKED + _ROLES[lower]
    return "▄", f"{STACKED}{_ROLES[upper]}+{STACKED}{_ROLES[lower]}"


def _plain_cell(lower: int, upper: int) -> tuple[str, str]:
    """Glyph and role of an ASCII cell, which shows its lower half."""
    return (" ", "") if lower == _IDLE else (CPU_BAR_PARTS[lower][1], STACKED + _ROLES[lower])


_ROLES = tuple(role for _, _, role in CPU_BAR_PARTS)


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


STEP_DOT, BACK_RING, CURRENT_MARK, CURVE_DOT, KNEE_LINE, OBJECTIVE_LINE = "●", "○", "+", "⠒", "│", "─"
AXIS_HEADROOM = 1.15
"""Factor by which the axis exceeds the highest level."""

LEVEL_UNITS = {Quantity.THREADS: "threads", Quantity.RATE: "rate/s"}
"""Labels of the level axis."""
LEVEL_AXIS_WIDTH = 1 + max(map(len, LEVEL_UNITS.values()))
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
    state, columns = view.probe, max(width - LEVEL_AXIS_WIDTH, 1)
    if state is None or height < 2:
        return [()] * height
    scale = _chart_scale(figure, state, columns, height - 1)
    cells = CellGrid(columns, height - 1)
    _draw_lines(figure, state, scale, cells)
    _draw_steps(figure, state, scale, cells)
    head: TextLine = (
        TextSpan(f"{figure.axis(scale.top):>{LEVEL_AXIS_WIDTH - 1}} ", "muted"),
        *_chart_caption(figure, state),
    )
    body = [(TextSpan(" " * LEVEL_AXIS_WIDTH), *line) for line in cells.lines()]
    body[-1] = (TextSpan(f"{'0':>{LEVEL_AXIS_WIDTH - 1}} ", "muted"), *body[-1][1:])
    return [pad_line(line, width) for line in (head, *body)]


def level_axis(view: View, width: int, height: int) -> list[TextLine]:
    """Level axis below both charts: the measured levels that fit."""
    state, columns = view.probe, max(width - LEVEL_AXIS_WIDTH, 1)
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
    unit = TextSpan(f"{LEVEL_UNITS[state.order.by]:>{LEVEL_AXIS_WIDTH - 1}} ", "muted")
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
