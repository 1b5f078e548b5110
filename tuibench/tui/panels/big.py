"""For the back of the room, in big letters: TPS and p95, whether data is at risk, the last effect."""

from collections.abc import Sequence
from typing import NamedTuple

from tuibench.model.effect import Comparison, Effect
from tuibench.tui import lettering
from tuibench.tui.panels.effect import NAMES, is_better, levels, verdict
from tuibench.tui.panels.measures import P95, TPS, Measure
from tuibench.tui.spans import Line, Span, fit, pad, width_of
from tuibench.tui.view import View
from tuibench.units import DASH, signed

MOST_SCALE = 6
_WIDEST, _UNIT_WIDTH = "0,000", 4
_NO_CHANGE = "No change yet: d changes durability, + and − the threads."


class Block(NamedTuple):
    """Rows of big letters in one role, with a word behind their last row."""

    rows: Sequence[str]
    role: str
    unit: str = ""


def big(view: View, width: int, height: int, *, ascii_only: bool = False) -> list[Line]:
    """Numbers, state and effect from the top down, each as large as its share of the screen allows."""
    for share in range(height // 2, 2, -1):
        parts = [draw(view, width, share, ascii_only=ascii_only) for draw in (_numbers, _state, _effect)]
        if sum(map(len, parts)) + len(parts) - 1 <= height:
            break
    free = height - sum(map(len, parts))
    lines: list[Line] = []
    for number, part in enumerate(parts):
        lines += [(Span(""),)] * max(0, (free + number) // (len(parts) + 1))
        lines += part
    return [pad(line, width) for line in lines][:height]


def _numbers(view: View, width: int, height: int, *, ascii_only: bool) -> list[Line]:
    """The two figures side by side, at the same scale."""
    half = width // 2
    texts = [measure.big(measure.value(view.points[-1]) if view.points else None) for measure in (TPS, P95)]
    scale = _scale(width, height)
    blocks = [
        Block(lettering.lettering(digits, scale, ascii_only=ascii_only), measure.role, f" {unit}")
        for measure, (digits, unit) in zip((TPS, P95), texts, strict=True)
    ]
    return [_side_by_side([_title(TPS), _title(P95)], half), *_beside(blocks, half)]


def _scale(width: int, height: int) -> int:
    """The scale of the figures, whatever they are now; nothing else is larger."""
    return min(MOST_SCALE, lettering.largest(_WIDEST, width // 2 - _UNIT_WIDTH, height))


def _title(measure: Measure) -> Line:
    return (Span(measure.title, "strong"), Span(f" {measure.unit}", "muted"))


def _state(view: View, width: int, height: int, *, ascii_only: bool) -> list[Line]:
    """The word, and below it each setting with its value and what it was."""
    if not view.durability:
        return [(Span(f"durability {DASH} unknown", "muted"),)]
    word, role = ("AT RISK", "risk") if view.at_risk else ("DURABLE", "ok")
    scale = min(_scale(width, height), lettering.largest("DURABLE", width, height))
    rows = [(Span(row, role),) for row in lettering.lettering(word, scale, ascii_only=ascii_only)]
    settings: Line = ()
    for setting in view.durability:
        was = f" (was {setting.original})" if setting.changed else ""
        value = Span(setting.value, "risk" if setting.at_risk else "strong")
        settings = (*settings, Span(f"{setting.name} ", "muted"), value, Span(f"{was}   ", "warn"))
    glyph = Span("▲ " if view.at_risk else "● ", role)
    return [*rows, fit((glyph, *settings), width)]


def _effect(view: View, width: int, height: int, *, ascii_only: bool) -> list[Line]:
    """What the last change did: the differences in big letters, their levels and intervals below."""
    effect = view.effect
    if effect is None:
        return [(Span(_NO_CHANGE, "muted"),)]
    column = width // max(1, len(effect.comparisons))
    room = max(3, height - 3)
    words = [_difference(one) for one in effect.comparisons]
    scale = min(
        _scale(width, height), *(lettering.largest(word.ljust(4, "0"), column - 2, room) for word in words)
    )
    blocks = [
        Block(lettering.lettering(word, scale, ascii_only=ascii_only), _role(one))
        for word, one in zip(words, effect.comparisons, strict=True)
    ]
    return [
        _change(effect, width),
        *_beside(blocks, column),
        _side_by_side([_levels(one) for one in effect.comparisons], column),
        _side_by_side([(verdict(one),) for one in effect.comparisons], column),
    ]


def _change(effect: Effect, width: int) -> Line:
    number = Span(f" {effect.markers[-1]} ", "badge")
    return fit((number, Span(f" {effect.change}", "strong")), width)


def _levels(one: Comparison) -> Line:
    return (Span(f"{NAMES[one.figure]} ", "muted"), Span(levels(one), "strong"))


def _difference(one: Comparison) -> str:
    """+55%, or = where nothing can be told from the noise."""
    if not one.differs or one.percent is None:
        return "="
    return f"{signed(one.percent, 0 if abs(one.percent) >= 10 else 1)}%"


def _role(one: Comparison) -> str:
    return "muted" if not one.differs else "ok" if is_better(one) else "warn"


def _beside(blocks: Sequence[Block], width: int) -> list[Line]:
    """Blocks in columns of equal width."""
    lines = []
    for number in range(len(blocks[0].rows)):
        is_last = number == len(blocks[0].rows) - 1
        cells = [
            (Span(block.rows[number], block.role), Span(block.unit if is_last else "", block.role))
            for block in blocks
        ]
        lines.append(_side_by_side(cells, width))
    return lines


def _side_by_side(cells: Sequence[Line], width: int) -> Line:
    line: Line = ()
    for cell in cells:
        line = (*line, *(pad(cell, width) if width_of(cell) < width else (*fit(cell, width - 1), Span(" "))))
    return line
