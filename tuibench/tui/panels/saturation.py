"""A probe on screen: where it stands, throughput and p95 against the level, and what it found.

Levels lie evenly in logarithms, so a doubling is as wide everywhere. Measured steps are dots (those of the
way back are rings), the one under way is a plus; the law's curve is dotted, the knee a vertical line, an
objective a horizontal one.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from tuibench.metrics.thresholds.absolute import parse_objectives
from tuibench.model.probe import ProbeEnd, ProbeState, ProbeStep, StepPurpose
from tuibench.model.schedule import Quantity
from tuibench.tui.text.spans import TextLine, TextSpan, fit_line, join_parts, pad_line, wrap_text
from tuibench.tui.view import View
from tuibench.units import axis_maximum, count, decimal, milliseconds, si

STEP_DOT, BACK_RING, CURRENT_MARK, CURVE_DOT, KNEE_LINE, OBJECTIVE_LINE = "●", "○", "+", "·", "│", "─"
AXIS_HEADROOM = 1.15
"""The axis goes so much farther than the highest level."""

LEVEL_UNITS = {Quantity.THREADS: "threads", Quantity.RATE: "rate/s"}
"""Of the levels, left of their axis."""
AXIS_WIDTH = 1 + max(map(len, LEVEL_UNITS.values()))
"""Cells left of the charts, for the axis labels."""

_GAP = TextSpan(" · ", "faint")

PROBE_END_TEXTS = {
    ProbeEnd.KNEE: "throughput stopped growing",
    ProbeEnd.SLO: "the objective was missed",
    ProbeEnd.COLLAPSE: "throughput collapsed",
    ProbeEnd.CONNECTIONS: "no more connections were let in",
    ProbeEnd.LIMIT: "the highest level was reached",
    ProbeEnd.TIME: "the time was up",
    ProbeEnd.ABORTED: "it was ended early",
}
"""Why a probe is over, in the words of a heading."""


class ProbeFigure(NamedTuple):
    """What one of the two charts shows: of a step, of the step under way, and how it is written."""

    title: str
    role: str
    of: Callable[[ProbeStep], float | None]
    now: Callable[[ProbeState], float | None]
    axis: Callable[[float], str]
    bound: str = ""
    has_curve: bool = False


THROUGHPUT = ProbeFigure(
    "TPS", "tps", lambda step: step.tps, lambda state: state.tps, si, "tps", has_curve=True
)
LATENCY = ProbeFigure(
    "p95", "latency", lambda step: step.p95_ms, lambda state: state.p95_ms, milliseconds, "p95"
)


class CellGrid:
    """A chart's cells; what is put later lies on top."""

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height
        self._rows = [[(" ", "")] * width for _ in range(height)]

    def put(self, column: int, row: int, glyph: str, role: str) -> None:
        """`row` 0 is the lowest; what lies outside is not drawn."""
        if 0 <= column < self._width and 0 <= row < self._height:
            self._rows[self._height - 1 - row][column] = (glyph, role)

    def lines(self) -> list[TextLine]:
        return [_merge_cells(row) for row in self._rows]


class LevelScale(NamedTuple):
    """Where a level and a value lie in the cells."""

    lowest: float
    highest: float
    top: float
    width: int
    height: int

    def column(self, level: float) -> int:
        span = math.log(self.highest / self.lowest)
        return round(math.log(max(level, 1e-9) / self.lowest) / span * (self.width - 1)) if span else 0

    def row(self, value: float) -> int:
        return round(value / self.top * (self.height - 1))


def probe_status(view: View, width: int, height: int) -> list[TextLine]:
    """What the probe does now, and what it waits for; once it is over, why it ended."""
    state = view.probe
    if state is None:
        return [pad_line((TextSpan("No probe has run yet: P starts one.", "muted"),), width)][:height]
    title = (TextSpan(f"PROBE by {state.order.by}", "title"),)
    slo: TextLine = (TextSpan(" and ".join(state.order.slo), "warn"),) if state.order.slo else ()
    spent = (TextSpan(f"{state.elapsed_seconds:.0f} of about {state.order.seconds:.0f} s", "muted"),)
    if state.result is not None:
        end = (TextSpan(f"done: {PROBE_END_TEXTS[state.result.end]}", "strong"),)
        return [pad_line(line, width) for line in (join_parts((title, end, slo, spent), _GAP), ())][:height]
    under_way = join_parts((title, _current_level(state), slo, spent), _GAP)
    waits = f"waiting for {state.waiting}" if state.waiting else "setting the next level"
    return [pad_line(fit_line(line, width), width) for line in (under_way, (TextSpan(waits, "muted"),))][
        :height
    ]


def probe_chart(figure: ProbeFigure, view: View, width: int, height: int) -> list[TextLine]:
    """One of the two charts, its axis at the left."""
    state, columns = view.probe, max(width - AXIS_WIDTH, 1)
    if state is None or height < 2:
        return [()] * height
    scale = _chart_scale(figure, state, columns, height - 1)
    cells = CellGrid(columns, height - 1)
    _draw_chart(figure, state, scale, cells)
    head: TextLine = (
        TextSpan(f"{figure.axis(scale.top):>{AXIS_WIDTH - 1}} ", "muted"),
        *_chart_caption(figure, state),
    )
    body = [(TextSpan(" " * AXIS_WIDTH), *line) for line in cells.lines()]
    body[-1] = (TextSpan(f"{'0':>{AXIS_WIDTH - 1}} ", "muted"), *body[-1][1:])
    return [pad_line(line, width) for line in (head, *body)]


def level_axis(view: View, width: int, height: int) -> list[TextLine]:
    """The levels below both charts, where they were measured, as far as there is room."""
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
    return [
        pad_line(
            (TextSpan(f"{LEVEL_UNITS[state.order.by]:>{AXIS_WIDTH - 1}} ", "muted"), TextSpan(text, "muted")),
            width,
        )
    ][:height]


def probe_result(view: View, width: int, height: int) -> list[TextLine]:
    """The answer in words; before there is one, the newest steps."""
    state = view.probe
    if state is None:
        return []
    if state.result is None:
        lines = [_measured_step_line(step) for step in reversed(state.steps)] or [
            (TextSpan("No step is over yet.", "muted"),)
        ]
        return [pad_line(fit_line(line, width), width) for line in lines[:height]]
    told: list[TextLine] = []
    for number, sentence in enumerate(state.result.lines):
        role = "strong" if number == 0 else "muted" if sentence.startswith("  ") else ""
        indent = "  " if sentence.startswith("  ") else ""
        told += [(TextSpan(indent + part, role),) for part in wrap_text(sentence, width - len(indent))]
    return [pad_line(line, width) for line in told[:height]]


def _current_level(state: ProbeState) -> TextLine:
    if not state.level:
        return (
            TextSpan(
                "without a rate" if state.purpose is StepPurpose.SCALE else "between two steps", "muted"
            ),
        )
    level = f"{count(state.level)}{'/s' if state.order.by is Quantity.RATE else ' threads'}"
    known = f" {count(state.tps)} TPS" if state.tps else ""
    width = f" ±{decimal(100 * state.half_width, 1)} %" if state.half_width is not None else ""
    return (
        TextSpan(f"{level} ({state.purpose})", "strong"),
        TextSpan(f" {state.step_seconds:.0f} s", "muted"),
        TextSpan(f"{known}{width}", "tps"),
    )


def _measured_step_line(step: ProbeStep) -> TextLine:
    known = f" ±{decimal(100 * step.half_width, 1)} %" if step.half_width is not None else ""
    missed = f"  missed {'; '.join(step.missed)}" if step.missed else ""
    return (
        TextSpan(f"{count(step.level):>7}", "strong"),
        TextSpan(f"{count(step.tps):>9} TPS{known:<10}", "tps"),
        TextSpan(f" p95 {milliseconds(step.p95_ms):<9}", "latency"),
        TextSpan("" if step.is_stable else " not stable", "warn"),
        TextSpan(missed, "warn"),
    )


def _chart_scale(figure: ProbeFigure, state: ProbeState, columns: int, rows: int) -> LevelScale:
    levels = [step.level for step in state.steps if step.level] + ([state.level] if state.level else [])
    values = [value for step in state.steps if (value := figure.of(step)) is not None]
    values += [value for value in (figure.now(state), *_objective_limits(figure, state)) if value is not None]
    lowest = min(levels, default=1.0)
    highest = max(*levels, 2 * lowest) if levels else 2.0
    return LevelScale(lowest, highest * AXIS_HEADROOM, axis_maximum(max(values, default=0.0)), columns, rows)


def _draw_chart(figure: ProbeFigure, state: ProbeState, scale: LevelScale, cells: CellGrid) -> None:
    """From what lies below to what lies on top."""
    for value in _objective_limits(figure, state):
        for column in range(scale.width):
            cells.put(column, scale.row(value), OBJECTIVE_LINE, "warn")
    knee = _knee_level(state)
    if knee is not None:
        for row in range(scale.height):
            cells.put(scale.column(knee), row, KNEE_LINE, "ok")
    if figure.has_curve and state.fit is not None:
        for level, tps in _interpolate(state.fit.curve, scale.width):
            cells.put(scale.column(level), scale.row(tps), CURVE_DOT, "server")
    for step in state.steps:
        measured = figure.of(step)
        if measured is not None and step.level:
            is_back = step.purpose is StepPurpose.BACK
            role = "muted" if is_back else figure.role
            cells.put(scale.column(step.level), scale.row(measured), BACK_RING if is_back else STEP_DOT, role)
    now = figure.now(state)
    if now is not None and state.level and state.result is None:
        cells.put(scale.column(state.level), scale.row(now), CURRENT_MARK, "strong")


def _knee_level(state: ProbeState) -> float | None:
    """Where the knee is drawn: none where the client was the limit."""
    if state.result is not None:
        return state.result.knee.level if state.result.knee else None
    return state.knee


def _objective_limits(figure: ProbeFigure, state: ProbeState) -> list[float]:
    """The objectives about this figure."""
    return [each.limit for each in parse_objectives(state.order.slo) if each.figure == figure.bound]


def _interpolate(curve: Sequence[tuple[float, float]], columns: int) -> list[tuple[float, float]]:
    """The curve with a point for each column, straight between those that were told."""
    found: list[tuple[float, float]] = []
    for (level, tps), (following, after) in pairwise(curve):
        steps = max(1, columns // len(curve) + 1)
        for step in range(steps):
            share = step / steps
            found.append((level * (following / level) ** share, tps + share * (after - tps)))
    return found


def _chart_caption(figure: ProbeFigure, state: ProbeState) -> TextLine:
    """The chart's name, and what its lines mean."""
    knee = _knee_level(state)
    parts: list[TextLine] = [(TextSpan(figure.title, figure.role),)]
    if figure.has_curve:
        parts.append((TextSpan(f"{KNEE_LINE} knee {count(knee)}", "ok"),) if knee is not None else ())
        if state.fit is not None and not state.fit.refusal:
            peak = f", peak at {count(state.fit.peak_level)}" if state.fit.peak_level else ""
            parts.append(
                (
                    TextSpan(
                        f"{CURVE_DOT} USL σ {state.fit.sigma:.3f} κ {state.fit.kappa:.2g}{peak}", "server"
                    ),
                )
            )
    parts += [(TextSpan(f"{OBJECTIVE_LINE} {text}", "warn"),) for text in _slo_texts(figure, state)]
    return join_parts(parts, _GAP)


def _slo_texts(figure: ProbeFigure, state: ProbeState) -> list[str]:
    return [each.text for each in parse_objectives(state.order.slo) if each.figure == figure.bound]


def _merge_cells(row: Sequence[tuple[str, str]]) -> TextLine:
    """Cells of one role beside each other are one span."""
    spans: list[TextSpan] = []
    for glyph, role in row:
        if spans and spans[-1].role == role:
            spans[-1] = spans[-1]._replace(text=spans[-1].text + glyph)
        else:
            spans.append(TextSpan(glyph, role))
    return tuple(spans)
