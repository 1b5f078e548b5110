"""Big numbers for a projector: the figures, the effect of the shown change, durability.

They are drawn below one wide chart of the TPS. Each figure has a column, with its difference in it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tuibench.metrics.inference.messages import FACTOR_FROM_PERCENT, FIGURE_NAMES, movement_reason
from tuibench.model.experiments.effect import Comparison, Verdict
from tuibench.tui.panels.effect import (
    before_after_text,
    difference_role,
    difference_span,
    progress_text,
)
from tuibench.tui.panels.load.measures import FSYNCS, P95, Measure, commits_matter, measures_of
from tuibench.tui.panels.plots.signature import FIGURES
from tuibench.tui.text import big_font
from tuibench.tui.text.spans import TextLine, TextSpan, fit_line, line_width, pad_line
from tuibench.tui.view import View
from tuibench.units import DASH, factor, signed

MAX_SCALE = 6
_LESS_DURABILITY = 5
"""Rows by which the durability word is smaller than the figures: the figures are the most prominent."""
_WIDEST, _UNIT_WIDTH = "0,000", 4
_NO_CHANGE = "No change yet: d changes durability, + and − the threads."
_NO_CHANGE_WITHOUT_LOAD = "No change yet: d changes durability."


class LetterBlock(NamedTuple):
    """Rows of big letters in one role, with a word after their last row."""

    rows: Sequence[str]
    role: str
    unit: str = ""


def big_numbers(view: View, width: int, height: int, *, ascii_only: bool = False) -> list[TextLine]:
    """Figures, effect and durability from the top down, each as large as its share of the screen allows."""
    for share in range(height // 2, 2, -1):
        parts = [
            _number_lines(view, width, share, ascii_only=ascii_only),
            _effect_lines(view, width, share, ascii_only=ascii_only),
            _durability_lines(view, width, max(3, share - _LESS_DURABILITY), ascii_only=ascii_only),
        ]
        if sum(map(len, parts)) + len(parts) - 1 <= height:
            break
    else:
        parts[-1] = [_durability_in_a_line(view, width)]
    free = height - sum(map(len, parts))
    lines: list[TextLine] = []
    for number, part in enumerate(parts):
        lines += [(TextSpan(""),)] * max(0, (free + number) // (len(parts) + 1))
        lines += part
    return [pad_line(line, width) for line in lines][:height]


def big_measures(view: View) -> tuple[Measure, ...]:
    """The columns: throughput, latency, and fsyncs per commit if durability matters in this run."""
    first = measures_of(view.headline, is_watch=view.shows_traffic)[0]
    return (first, P95, FSYNCS) if commits_matter(view) else (first, P95)


def _number_lines(view: View, width: int, height: int, *, ascii_only: bool) -> list[TextLine]:
    """The figures side by side, at the same scale."""
    measures = big_measures(view)
    column = width // len(measures)
    scale = _scale(column, height)
    newest = view.points[-1] if view.points else None
    blocks = []
    for measure in measures:
        digits, unit = measure.big(measure.value(newest) if newest else None)
        rows = big_font.big_letters(digits, scale, ascii_only=ascii_only)
        blocks.append(LetterBlock(rows, measure.role, f" {unit}"))
    return [
        _side_by_side([_measure_title(measure) for measure in measures], column),
        *_blocks_side_by_side(blocks, column),
    ]


def _scale(column: int, height: int) -> int:
    """Scale of the figures, independent of their current values; the maximum for all other text."""
    return min(MAX_SCALE, big_font.largest_scale(_WIDEST, column - _UNIT_WIDTH, height))


def _measure_title(measure: Measure) -> TextLine:
    return (TextSpan(measure.title, "strong"), TextSpan(f" {measure.unit}", "muted"))


def _durability_lines(view: View, width: int, height: int, *, ascii_only: bool) -> list[TextLine]:
    """Durability word, and below it each setting with its value and original value."""
    if not view.durability:
        return [(TextSpan(f"durability {DASH} unknown", "muted"),)]
    word, role = _durability_word(view)
    column = width // len(big_measures(view))
    scale = min(_scale(column, height), big_font.largest_scale("DURABLE", width, height))
    rows = [(TextSpan(row, role),) for row in big_font.big_letters(word, scale, ascii_only=ascii_only)]
    glyph = TextSpan("▲ " if view.at_risk else "● ", role)
    return [*rows, _with_settings((glyph,), view, width)]


def _durability_in_a_line(view: View, width: int) -> TextLine:
    """The same in one line, if there is no room for big letters."""
    if not view.durability:
        return (TextSpan(f"durability {DASH} unknown", "muted"),)
    word, role = _durability_word(view)
    head = TextSpan(f" ▲ {word} ", "alarm") if view.at_risk else TextSpan(f" ● {word} ", role)
    return _with_settings((head, TextSpan(" ")), view, width)


def _with_settings(head: TextLine, view: View, width: int) -> TextLine:
    """The durability word with its settings, by their short names if space is short."""
    whole = (*head, *_durability_settings(view))
    if line_width(whole) > width:
        whole = (*head, *_durability_settings(view, short=True))
    return fit_line(whole, width)


def _durability_word(view: View) -> tuple[str, str]:
    return ("AT RISK", "risk") if view.at_risk else ("DURABLE", "ok")


def _durability_settings(view: View, *, short: bool = False) -> TextLine:
    """Each setting with its value and original value."""
    settings: TextLine = ()
    for number, setting in enumerate(view.durability):
        name = setting.short_name if short and setting.short_name else setting.name
        gap = "   " if number else ""
        was = f" (was {setting.original})" if setting.changed else ""
        value = TextSpan(setting.value, "risk" if setting.at_risk else "strong")
        settings = (*settings, TextSpan(f"{gap}{name} ", "muted"), value, TextSpan(was, "warn"))
    return settings


def _effect_lines(view: View, width: int, height: int, *, ascii_only: bool) -> list[TextLine]:
    """Effect of the shown change: differences in big letters, levels and intervals below."""
    effect = view.effect
    measures = big_measures(view)
    column = width // len(measures)
    if (progress := view.effect_progress) is not None:
        measuring = TextSpan(f"effect: {progress_text(view, progress)}", "muted")
        rows = [_change_line(progress.markers[-1], progress.change, width), (measuring,)]
        later = len(big_font.big_letters("0", _scale(column, height))) + 3
        return rows + [(TextSpan(""),)] * (later - len(rows))
    if effect is None:
        return [(TextSpan(_NO_CHANGE_WITHOUT_LOAD if view.is_watch else _NO_CHANGE, "muted"),)]
    found = [
        effect.comparison(FIGURES[measure.name]) if measure.name in FIGURES else None for measure in measures
    ]
    reason = next(filter(None, map(movement_reason, effect.comparisons)), "")
    room = max(3, height - 3)
    words = [_difference_text(one) for one in found]
    scale = min(
        _scale(column, height),
        *(big_font.largest_scale(word.ljust(4, "0"), column - 2, room) for word in words),
    )
    blocks = [
        LetterBlock(big_font.big_letters(word, scale, ascii_only=ascii_only), difference_role(one))
        for word, one in zip(words, found, strict=True)
    ]
    return [
        _change_line(effect.markers[-1], effect.change, width, reason),
        *_blocks_side_by_side(blocks, column),
        _side_by_side([_before_after(one) for one in found], column),
        _side_by_side([(difference_span(one),) if one else () for one in found], column),
    ]


def _change_line(marker: int, change: str, width: int, reason: str = "") -> TextLine:
    """The change, and the reason why its effect is unknown."""
    number = TextSpan(f" {marker} ", "badge")
    why = (TextSpan(f"   not attributed: {reason}", "warn"),) if reason else ()
    return fit_line((number, TextSpan(f" {change}", "strong"), *why), width)


def _before_after(one: Comparison | None) -> TextLine:
    if one is None:
        return (TextSpan(f"{DASH} not compared", "muted"),)
    return (TextSpan(f"{FIGURE_NAMES[one.figure]} ", "muted"), TextSpan(before_after_text(one), "strong"))


def _difference_text(one: Comparison | None) -> str:
    """Difference as text: +55%, ×84, = if equal, ? if inconclusive."""
    if one is None:
        return DASH
    if not one.differs or one.percent is None:
        return "=" if one.verdict is Verdict.EQUAL else "?"
    if one.percent >= FACTOR_FROM_PERCENT:
        return f"×{factor(one.percent)}"
    return f"{signed(one.percent, 0 if abs(one.percent) >= 10 else 1)}%"


def _blocks_side_by_side(blocks: Sequence[LetterBlock], width: int) -> list[TextLine]:
    """Blocks in columns of equal width."""
    lines = []
    last = max(place for place, row in enumerate(blocks[0].rows) if row.strip() or not place)
    for number in range(len(blocks[0].rows)):
        is_last = number == last
        cells = [
            (
                TextSpan(block.rows[number], _letter_role(block)),
                TextSpan(block.unit if is_last else "", block.role),
            )
            for block in blocks
        ]
        lines.append(_side_by_side(cells, width))
    return lines


def _letter_role(block: LetterBlock) -> str:
    """Role of a block: plain digits become bold."""
    is_plain = block.rows[0].strip() == "" and any(sign.isalnum() for row in block.rows for sign in row)
    return "strong" if is_plain else block.role


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
