"""For the back of the room, in big letters: TPS and p95, whether data is at risk, the last effect."""

from collections.abc import Sequence
from typing import NamedTuple

from tuibench.metrics.inference.wording import FIGURE_NAMES
from tuibench.model.effect import Comparison, Effect
from tuibench.model.verdict import Verdict
from tuibench.tui.panels.effect import before_after_text, difference_span, is_better
from tuibench.tui.panels.measures import P95, TPS, Measure
from tuibench.tui.text import big_font
from tuibench.tui.text.spans import TextLine, TextSpan, fit_line, line_width, pad_line
from tuibench.tui.view import View
from tuibench.units import DASH, signed

MAX_SCALE = 6
_WIDEST, _UNIT_WIDTH = "0,000", 4
_NO_CHANGE = "No change yet: d changes durability, + and − the threads."
_NO_CHANGE_WITHOUT_LOAD = "No change yet: d changes durability."


class LetterBlock(NamedTuple):
    """Rows of big letters in one role, with a word behind their last row."""

    rows: Sequence[str]
    role: str
    unit: str = ""


def big_numbers(view: View, width: int, height: int, *, ascii_only: bool = False) -> list[TextLine]:
    """Numbers, state and effect from the top down, each as large as its share of the screen allows."""
    for share in range(height // 2, 2, -1):
        parts = [
            draw(view, width, share, ascii_only=ascii_only)
            for draw in (_number_lines, _durability_lines, _effect_lines)
        ]
        if sum(map(len, parts)) + len(parts) - 1 <= height:
            break
    free = height - sum(map(len, parts))
    lines: list[TextLine] = []
    for number, part in enumerate(parts):
        lines += [(TextSpan(""),)] * max(0, (free + number) // (len(parts) + 1))
        lines += part
    return [pad_line(line, width) for line in lines][:height]


def _number_lines(view: View, width: int, height: int, *, ascii_only: bool) -> list[TextLine]:
    """The two figures side by side, at the same scale."""
    half = width // 2
    texts = [measure.big(measure.value(view.points[-1]) if view.points else None) for measure in (TPS, P95)]
    scale = _scale(width, height)
    blocks = [
        LetterBlock(big_font.big_letters(digits, scale, ascii_only=ascii_only), measure.role, f" {unit}")
        for measure, (digits, unit) in zip((TPS, P95), texts, strict=True)
    ]
    return [
        _side_by_side([_measure_title(TPS), _measure_title(P95)], half),
        *_blocks_side_by_side(blocks, half),
    ]


def _scale(width: int, height: int) -> int:
    """The scale of the figures, whatever they are now; nothing else is larger."""
    return min(MAX_SCALE, big_font.largest_scale(_WIDEST, width // 2 - _UNIT_WIDTH, height))


def _measure_title(measure: Measure) -> TextLine:
    return (TextSpan(measure.title, "strong"), TextSpan(f" {measure.unit}", "muted"))


def _durability_lines(view: View, width: int, height: int, *, ascii_only: bool) -> list[TextLine]:
    """The word, and below it each setting with its value and what it was."""
    if not view.durability:
        return [(TextSpan(f"durability {DASH} unknown", "muted"),)]
    word, role = ("AT RISK", "risk") if view.at_risk else ("DURABLE", "ok")
    scale = min(_scale(width, height), big_font.largest_scale("DURABLE", width, height))
    rows = [(TextSpan(row, role),) for row in big_font.big_letters(word, scale, ascii_only=ascii_only)]
    settings: TextLine = ()
    for setting in view.durability:
        was = f" (was {setting.original})" if setting.changed else ""
        value = TextSpan(setting.value, "risk" if setting.at_risk else "strong")
        settings = (*settings, TextSpan(f"{setting.name} ", "muted"), value, TextSpan(f"{was}   ", "warn"))
    glyph = TextSpan("▲ " if view.at_risk else "● ", role)
    return [*rows, fit_line((glyph, *settings), width)]


def _effect_lines(view: View, width: int, height: int, *, ascii_only: bool) -> list[TextLine]:
    """What the last change did: the differences in big letters, their levels and intervals below."""
    effect = view.effect
    if effect is None:
        return [(TextSpan(_NO_CHANGE_WITHOUT_LOAD if view.is_watch else _NO_CHANGE, "muted"),)]
    column = width // max(1, len(effect.comparisons))
    room = max(3, height - 3)
    words = [_difference_text(one) for one in effect.comparisons]
    scale = min(
        _scale(width, height),
        *(big_font.largest_scale(word.ljust(4, "0"), column - 2, room) for word in words),
    )
    blocks = [
        LetterBlock(big_font.big_letters(word, scale, ascii_only=ascii_only), _difference_role(one))
        for word, one in zip(words, effect.comparisons, strict=True)
    ]
    return [
        _change_line(effect, width),
        *_blocks_side_by_side(blocks, column),
        _side_by_side([_before_after(one) for one in effect.comparisons], column),
        _side_by_side([(difference_span(one),) for one in effect.comparisons], column),
    ]


def _change_line(effect: Effect, width: int) -> TextLine:
    number = TextSpan(f" {effect.markers[-1]} ", "badge")
    return fit_line((number, TextSpan(f" {effect.change}", "strong")), width)


def _before_after(one: Comparison) -> TextLine:
    return (TextSpan(f"{FIGURE_NAMES[one.figure]} ", "muted"), TextSpan(before_after_text(one), "strong"))


def _difference_text(one: Comparison) -> str:
    """+55%, = where it is equal, or ? where that cannot be told."""
    if not one.differs or one.percent is None:
        return "=" if one.verdict is Verdict.EQUAL else "?"
    return f"{signed(one.percent, 0 if abs(one.percent) >= 10 else 1)}%"


def _difference_role(one: Comparison) -> str:
    return "muted" if not one.differs else "ok" if is_better(one) else "warn"


def _blocks_side_by_side(blocks: Sequence[LetterBlock], width: int) -> list[TextLine]:
    """Blocks in columns of equal width."""
    lines = []
    for number in range(len(blocks[0].rows)):
        is_last = number == len(blocks[0].rows) - 1
        cells = [
            (TextSpan(block.rows[number], block.role), TextSpan(block.unit if is_last else "", block.role))
            for block in blocks
        ]
        lines.append(_side_by_side(cells, width))
    return lines


def _side_by_side(cells: Sequence[TextLine], width: int) -> TextLine:
    line: TextLine = ()
    for cell in cells:
        line = (
            *line,
            *(
                pad_line(cell, width)
                if line_width(cell) < width
                else (*fit_line(cell, width - 1), TextSpan(" "))
            ),
        )
    return line
