"""Character graphics for values: bars, markers, axes. Text only, no colour."""

import re
from collections.abc import Callable, Mapping, Sequence

from tuibench.tui.text.braille import BRAILLE

CELL_EIGHTHS = 8
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_ASCII_EIGHTHS = " ..--==##"
MARKER = "│"
RULE = "─"
CROSSING = "┼"
CURSOR = "┃"
AXIS_STEPS_SECONDS = (5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)
_LABEL_SPACING = 11

_TO_ASCII = str.maketrans(
    {
        "│": "|",
        "─": "-",
        "┼": "+",
        "┃": ":",
        "├": "[",
        "┤": "]",
        "←": "<",
        "⇧": "^",
        "█": "#",
        "▓": "=",
        "▒": "-",
        "░": ":",
        "·": ".",
        "–": "-",
        "−": "-",
        "×": "x",
        "Δ": "^",
        "→": ">",
        "…": "~",
        "●": "*",
        "◆": "*",
        "◐": "o",
        "○": "o",
        "■": "#",
        "‖": "=",
        "▶": ">",
        "▲": "!",
        "✓": "+",
        "✗": "x",
        "µ": "u",
        "σ": "s",
        "κ": "k",
        "²": "2",
        "±": "~",
        "▌": " ",
        "▐": " ",
        "▸": ">",
        "◂": "<",
        "↑": "^",
        "↓": "v",
        "▔": "-",
        "▁": "_",
        "━": "=",
        **dict.fromkeys("╭╮╰╯┌┐└┘", "+"),
        "🔎": "> ",
        **dict.fromkeys(BRAILLE[1:], "."),
    }
)

_ASCII_PHRASES = (
    (re.compile(r"(?<=[^\s←]) → (?=\S)"), "-->"),
    (re.compile(r"(?<=\w) …"), ".."),
)
"""Forms of several characters: in `sync_binlog 1 → 0` a `>` would be read as "greater than"."""


def to_ascii(text: str) -> str:
    """The text in ASCII, in the same number of cells."""
    for pattern, form in _ASCII_PHRASES:
        text = pattern.sub(form, text)
    return text.translate(_TO_ASCII).encode("ascii", "replace").decode("ascii")


def draw_bars(
    values: Sequence[float | None], top: float, height: int, *, ascii_only: bool = False
) -> list[str]:
    """One column per value, from a zero baseline up to `top`, as rows from the top down.

    A measured value always leaves a mark on the baseline, even zero; a missing one (None) leaves its column
    empty, so that a gap is a break in the baseline.
    """
    glyphs = _ASCII_EIGHTHS if ascii_only else _EIGHTHS
    columns = [_column(_eighths(value, top, height), glyphs).ljust(height) for value in values]
    rows = ["".join(cells) for cells in zip(*columns, strict=True)] or [""] * height
    return rows[::-1]


def _eighths(value: float | None, top: float, height: int) -> int:
    if value is None:
        return 0
    return min(max(1, round(value / top * height * CELL_EIGHTHS)), height * CELL_EIGHTHS)


def _column(level: int, glyphs: str) -> str:
    """Cells of a bar of `level` eighths, from the baseline up."""
    whole, part = divmod(level, CELL_EIGHTHS)
    return glyphs[CELL_EIGHTHS] * whole + (glyphs[part] if part else "")


def strike_markers(row: str, columns: Mapping[int, int], mark: str = MARKER) -> str:
    """The row with a marker line at each column of `columns` (column → marker number)."""
    cells = list(row)
    for column in columns:
        cells[column] = mark
    return "".join(cells)


def marker_labels(columns: Mapping[int, int], width: int) -> dict[int, str]:
    """Position of each marker's number: column → text. A later marker hides an earlier one below it."""
    placed: dict[int, str] = {}
    for column, number in sorted(columns.items()):
        text = str(number)
        start = min(column, width - len(text))
        for other in [at for at, label in placed.items() if at + len(label) > start]:
            del placed[other]
        placed[start] = text
    return placed


def time_axis_text(width: int, seconds_per_column: float) -> str:
    """Time labels below the columns: −60s … now, with `now` at the right edge."""
    step = _label_step(seconds_per_column)
    cells = [" "] * width
    _write(cells, width - 3, "now")
    column_step = step / seconds_per_column
    for position in range(1, int(width / column_step) + 1):
        text = _ago(step * position, step)
        start = round(width - 1 - position * column_step) - len(text) // 2
        if start >= 0:
            _write(cells, start, text)
    return "".join(cells)


def clock_axis_text(
    width: int, seconds_per_column: float, newest_at: float, write: Callable[[float, str], str]
) -> str:
    """Time-of-day labels below the columns, the newest at the right edge, at round times."""
    step = _label_step(seconds_per_column)
    cells = [" "] * width
    form = "%H:%M:%S" if step < 60 else "%H:%M"
    at = newest_at // step * step
    while (column := width - 1 - round((newest_at - at) / seconds_per_column)) >= 0:
        text = write(at, form)
        start = min(column - len(text) // 2, width - len(text))
        if start >= 0 and all(cell == " " for cell in cells[max(start - 1, 0) : start + len(text) + 1]):
            _write(cells, start, text)
        at -= step
    return "".join(cells)


def _label_step(seconds_per_column: float) -> int:
    for step in AXIS_STEPS_SECONDS:
        if step / seconds_per_column >= _LABEL_SPACING:
            return step
    return AXIS_STEPS_SECONDS[-1]


def _ago(seconds: int, step: int) -> str:
    """Label in minutes if every label of the axis is a whole number of them."""
    return f"−{seconds}s" if step % 60 else f"−{seconds // 60}m"


def _write(cells: list[str], start: int, text: str) -> None:
    if start >= 0:
        cells[start : start + len(text)] = text


def share_runs(parts: Sequence[tuple[float, str]], width: int, rest: str) -> list[str]:
    """A bar of `width` cells split by percent: one run of its glyph per part, and the rest last.

    The ends are rounded, not the lengths, so that the total length matches the sum of the parts.
    """
    runs: list[str] = []
    total, end = 0.0, 0
    for percent, glyph in parts:
        total += percent
        stop = min(width, max(end, round(total / 100 * width)))
        runs.append(glyph * (stop - end))
        end = stop
    return [*runs, rest * (width - end)]
