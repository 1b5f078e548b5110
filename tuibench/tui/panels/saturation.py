"""A probe on screen: where it stands, throughput and p95 against the level, and what it found.

Levels lie evenly in logarithms, so a doubling is as wide everywhere. Measured steps are dots (those of the
way back are rings), the one under way is a plus; the law's curve is dotted, the knee a vertical line, an
objective a horizontal one.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from tuibench.metrics.objectives import objectives_in
from tuibench.model.probe import ProbeEnd, ProbeState, ProbeStep, Purpose
from tuibench.model.schedule import Quantity
from tuibench.tui.spans import Line, Span, fit, joined, pad, wrapped
from tuibench.tui.view import View
from tuibench.units import axis_maximum, count, decimal, milliseconds, si

DOT, RING, NOW, CURVE, KNEE, BOUND = "●", "○", "+", "·", "│", "─"
SPARE = 1.15
"""The axis goes so much farther than the highest level."""

UNITS = {Quantity.THREADS: "threads", Quantity.RATE: "rate/s"}
"""Of the levels, left of their axis."""
AXIS_WIDTH = 1 + max(map(len, UNITS.values()))
"""Cells left of the charts, for the axis labels."""

_GAP = Span(" · ", "faint")

ENDS = {
    ProbeEnd.KNEE: "throughput stopped growing",
    ProbeEnd.SLO: "the objective was missed",
    ProbeEnd.COLLAPSE: "throughput collapsed",
    ProbeEnd.CONNECTIONS: "no more connections were let in",
    ProbeEnd.LIMIT: "the highest level was reached",
    ProbeEnd.TIME: "the time was up",
    ProbeEnd.ABORTED: "it was ended early",
}
"""Why a probe is over, in the words of a heading."""


class Figure(NamedTuple):
    """What one of the two charts shows: of a step, of the step under way, and how it is written."""

    title: str
    role: str
    of: Callable[[ProbeStep], float | None]
    now: Callable[[ProbeState], float | None]
    axis: Callable[[float], str]
    bound: str = ""
    has_curve: bool = False


THROUGHPUT = Figure("TPS", "tps", lambda step: step.tps, lambda state: state.tps, si, "tps", has_curve=True)
LATENCY = Figure("p95", "latency", lambda step: step.p95_ms, lambda state: state.p95_ms, milliseconds, "p95")


class Cells:
    """A chart's cells; what is put later lies on top."""

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height
        self._rows = [[(" ", "")] * width for _ in range(height)]

    def put(self, column: int, row: int, glyph: str, role: str) -> None:
        """`row` 0 is the lowest; what lies outside is not drawn."""
        if 0 <= column < self._width and 0 <= row < self._height:
            self._rows[self._height - 1 - row][column] = (glyph, role)

    def lines(self) -> list[Line]:
        return [_spans(row) for row in self._rows]


class Scale(NamedTuple):
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


def standing(view: View, width: int, height: int) -> list[Line]:
    """What the probe does now, and what it waits for; once it is over, why it ended."""
    state = view.probe
    if state is None:
        return [pad((Span("No probe has run yet: P starts one.", "muted"),), width)][:height]
    title = (Span(f"PROBE by {state.order.by}", "title"),)
    slo: Line = (Span(" and ".join(state.order.slo), "warn"),) if state.order.slo else ()
    spent = (Span(f"{state.elapsed_seconds:.0f} of about {state.order.seconds:.0f} s", "muted"),)
    if state.result is not None:
        end = (Span(f"done: {ENDS[state.result.end]}", "strong"),)
        return [pad(line, width) for line in (joined((title, end, slo, spent), _GAP), ())][:height]
    under_way = joined((title, _now(state), slo, spent), _GAP)
    waits = f"waiting for {state.waiting}" if state.waiting else "setting the next level"
    return [pad(fit(line, width), width) for line in (under_way, (Span(waits, "muted"),))][:height]


def chart(figure: Figure, view: View, width: int, height: int) -> list[Line]:
    """One of the two charts, its axis at the left."""
    state, columns = view.probe, max(width - AXIS_WIDTH, 1)
    if state is None or height < 2:
        return [()] * height
    scale = _scale(figure, state, columns, height - 1)
    cells = Cells(columns, height - 1)
    _draw(figure, state, scale, cells)
    head: Line = (Span(f"{figure.axis(scale.top):>{AXIS_WIDTH - 1}} ", "muted"), *_caption(figure, state))
    body = [(Span(" " * AXIS_WIDTH), *line) for line in cells.lines()]
    body[-1] = (Span(f"{'0':>{AXIS_WIDTH - 1}} ", "muted"), *body[-1][1:])
    return [pad(line, width) for line in (head, *body)]


def axis(view: View, width: int, height: int) -> list[Line]:
    """The levels below both charts, where they were measured, as far as there is room."""
    state, columns = view.probe, max(width - AXIS_WIDTH, 1)
    if state is None:
        return [()]
    scale = _scale(THROUGHPUT, state, columns, 1)
    text, end = "", 0
    for level in sorted({step.level for step in state.steps if step.level} | {state.level or 1.0}):
        label, column = si(level).replace(" ", ""), scale.column(level)
        start = min(max(column - len(label) // 2, 0), columns - len(label))
        if start >= end:
            text = f"{text:<{start}}{label}"
            end = start + len(label) + 1
    return [pad((Span(f"{UNITS[state.order.by]:>{AXIS_WIDTH - 1}} ", "muted"), Span(text, "muted")), width)][
        :height
    ]


def found(view: View, width: int, height: int) -> list[Line]:
    """The answer in words; before there is one, the newest steps."""
    state = view.probe
    if state is None:
        return []
    if state.result is None:
        lines = [_step_line(step) for step in reversed(state.steps)] or [
            (Span("No step is over yet.", "muted"),)
        ]
        return [pad(fit(line, width), width) for line in lines[:height]]
    told: list[Line] = []
    for number, sentence in enumerate(state.result.lines):
        role = "strong" if number == 0 else "muted" if sentence.startswith("  ") else ""
        indent = "  " if sentence.startswith("  ") else ""
        told += [(Span(indent + part, role),) for part in wrapped(sentence, width - len(indent))]
    return [pad(line, width) for line in told[:height]]


def _now(state: ProbeState) -> Line:
    if not state.level:
        return (Span("without a rate" if state.purpose is Purpose.SCALE else "between two steps", "muted"),)
    level = f"{count(state.level)}{'/s' if state.order.by is Quantity.RATE else ' threads'}"
    known = f" {count(state.tps)} TPS" if state.tps else ""
    width = f" ±{decimal(100 * state.half_width, 1)} %" if state.half_width is not None else ""
    return (
        Span(f"{level} ({state.purpose})", "strong"),
        Span(f" {state.step_seconds:.0f} s", "muted"),
        Span(f"{known}{width}", "tps"),
    )


def _step_line(step: ProbeStep) -> Line:
    known = f" ±{decimal(100 * step.half_width, 1)} %" if step.half_width is not None else ""
    missed = f"  missed {'; '.join(step.missed)}" if step.missed else ""
    return (
        Span(f"{count(step.level):>7}", "strong"),
        Span(f"{count(step.tps):>9} TPS{known:<10}", "tps"),
        Span(f" p95 {milliseconds(step.p95_ms):<9}", "latency"),
        Span("" if step.is_stable else " not stable", "warn"),
        Span(missed, "warn"),
    )


def _scale(figure: Figure, state: ProbeState, columns: int, rows: int) -> Scale:
    levels = [step.level for step in state.steps if step.level] + ([state.level] if state.level else [])
    values = [value for step in state.steps if (value := figure.of(step)) is not None]
    values += [value for value in (figure.now(state), *_bounds(figure, state)) if value is not None]
    lowest = min(levels, default=1.0)
    highest = max(*levels, 2 * lowest) if levels else 2.0
    return Scale(lowest, highest * SPARE, axis_maximum(max(values, default=0.0)), columns, rows)


def _draw(figure: Figure, state: ProbeState, scale: Scale, cells: Cells) -> None:
    """From what lies below to what lies on top."""
    for value in _bounds(figure, state):
        for column in range(scale.width):
            cells.put(column, scale.row(value), BOUND, "warn")
    knee = _knee(state)
    if knee is not None:
        for row in range(scale.height):
            cells.put(scale.column(knee), row, KNEE, "ok")
    if figure.has_curve and state.fit is not None:
        for level, tps in _dense(state.fit.curve, scale.width):
            cells.put(scale.column(level), scale.row(tps), CURVE, "server")
    for step in state.steps:
        measured = figure.of(step)
        if measured is not None and step.level:
            is_back = step.purpose is Purpose.BACK
            role = "muted" if is_back else figure.role
            cells.put(scale.column(step.level), scale.row(measured), RING if is_back else DOT, role)
    now = figure.now(state)
    if now is not None and state.level and state.result is None:
        cells.put(scale.column(state.level), scale.row(now), NOW, "strong")


def _knee(state: ProbeState) -> float | None:
    """Where the knee is drawn: none where the client was the limit."""
    if state.result is not None:
        return state.result.knee.level if state.result.knee else None
    return state.knee


def _bounds(figure: Figure, state: ProbeState) -> list[float]:
    """The objectives about this figure."""
    return [each.limit for each in objectives_in(state.order.slo) if each.figure == figure.bound]


def _dense(curve: Sequence[tuple[float, float]], columns: int) -> list[tuple[float, float]]:
    """The curve with a point for each column, straight between those that were told."""
    found: list[tuple[float, float]] = []
    for (level, tps), (following, after) in pairwise(curve):
        steps = max(1, columns // len(curve) + 1)
        for step in range(steps):
            share = step / steps
            found.append((level * (following / level) ** share, tps + share * (after - tps)))
    return found


def _caption(figure: Figure, state: ProbeState) -> Line:
    """The chart's name, and what its lines mean."""
    knee = _knee(state)
    parts: list[Line] = [(Span(figure.title, figure.role),)]
    if figure.has_curve:
        parts.append((Span(f"{KNEE} knee {count(knee)}", "ok"),) if knee is not None else ())
        if state.fit is not None and not state.fit.refusal:
            peak = f", peak at {count(state.fit.peak_level)}" if state.fit.peak_level else ""
            parts.append(
                (Span(f"{CURVE} USL σ {state.fit.sigma:.3f} κ {state.fit.kappa:.2g}{peak}", "server"),)
            )
    parts += [(Span(f"{BOUND} {text}", "warn"),) for text in _slo_texts(figure, state)]
    return joined(parts, _GAP)


def _slo_texts(figure: Figure, state: ProbeState) -> list[str]:
    return [each.text for each in objectives_in(state.order.slo) if each.figure == figure.bound]


def _spans(row: Sequence[tuple[str, str]]) -> Line:
    """Cells of one role beside each other are one span."""
    spans: list[Span] = []
    for glyph, role in row:
        if spans and spans[-1].role == role:
            spans[-1] = spans[-1]._replace(text=spans[-1].text + glyph)
        else:
            spans.append(Span(glyph, role))
    return tuple(spans)
