"""Text in terminal cells: lines of spans, bars, braille drawings, big letters, tables.

A line is a tuple of spans, a span is a text with a role. Panels produce lines, tests compare them as text,
and the stylesheet defines the style of a role. All widths are in terminal cells. Big letters are drawn in
dots of half a cell, at any scale.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from tuibench.base import sanitize
from tuibench.base.document import Bar, Cell, Styled, Table, axis_of, axis_text, bar_text

DOTS_ACROSS, DOTS_HIGH = 2, 4
_FIRST = 0x2800
BITS = ((0x40, 0x80), (0x04, 0x20), (0x02, 0x10), (0x01, 0x08))
"""The bits of the dots of a braille character, by row from the bottom, then by column."""
BRAILLE = tuple(chr(_FIRST + number) for number in range(256))


class DotGrid:
    """A drawing of dots; column 0 is the leftmost, row 0 the lowest. Dots outside are ignored."""

    def __init__(self, width: int, height: int) -> None:
        """`width` and `height` are in cells."""
        self.columns, self.rows = width * DOTS_ACROSS, height * DOTS_HIGH
        self._cells: dict[tuple[int, int], int] = {}

    def dot(self, column: int, row: int) -> None:
        if 0 <= column < self.columns and 0 <= row < self.rows:
            place = (column // DOTS_ACROSS, row // DOTS_HIGH)
            bit = BITS[row % DOTS_HIGH][column % DOTS_ACROSS]
            self._cells[place] = self._cells.get(place, 0) | bit

    def line(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        """Draw a straight line between two dots, both included."""
        steps = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
        for step in range(steps + 1):
            self.dot(
                round(start[0] + (end[0] - start[0]) * step / steps),
                round(start[1] + (end[1] - start[1]) * step / steps),
            )

    def cells(self) -> dict[tuple[int, int], str]:
        """Characters by cell: column, and row from the bottom."""
        return {place: BRAILLE[bits] for place, bits in self._cells.items()}


CELL_EIGHTHS = 8
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_ASCII_EIGHTHS = " ..--==##"
MARKER = "│"
RULE = "─"
CROSSING = "┼"
BAND, BAND_END = "━", "┥"
"""The characters that draw the time of an experiment on a rule."""
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
        "┥": "]",
        "←": "<",
        "⇧": "^",
        "█": "#",
        "▇": "#",
        "▓": "=",
        "▒": "-",
        "░": ":",
        "·": ".",
        "–": "-",
        "−": "-",
        "×": "x",
        "÷": "/",
        "Δ": "^",
        "→": ">",
        "…": ".",
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
        "┣": "[",
        "┫": "]",
        "┿": "+",
        **dict.fromkeys("╭╮╰╯┌┐└┘", "+"),
        "🔎": "> ",
        **dict.fromkeys(BRAILLE[1:], "."),
    }
)

_ASCII_PHRASES = (
    (re.compile(r"(?<=[^\s←]) → (?=\S)"), "-->"),
    (re.compile(r"± (?=\d)"), "+-"),
    (re.compile(r"±([\d.,]+) (?=[%\w])"), r"+-\1"),
    (re.compile(r"…[/\w]|(?<=\S) …(?![/\w])|[^\s\x1b](?<![\[;\d][A-Za-z])…(?![/\w])"), ".."),
)
"""Replacements of several characters, as in `sync_binlog 1 --> 0`, where `>` would mean "greater than". Each
also replaces a blank or a letter beside the character, but not the last letter of an escape sequence.
"""


def to_ascii(text: str) -> str:
    """The text in ASCII, in the same number of cells."""
    for pattern, form in _ASCII_PHRASES:
        text = pattern.sub(form, text)
    return text.translate(_TO_ASCII).encode("ascii", "replace").decode("ascii")


def draw_bars(
    values: Sequence[float | None], top: float, height: int, *, ascii_only: bool = False
) -> list[str]:
    """One column per value, from a zero baseline up to `top`, as rows from the top down.

    A measured value has a mark on the baseline, even zero. A missing one (None) has an empty column, so that
    a gap interrupts the baseline.
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


FREE_CELLS = " " + RULE


def strike_markers(row: str, columns: Iterable[int], mark: str = MARKER) -> str:
    """The row with a marker line at each of these columns that has no bar."""
    cells = list(row)
    for column in columns:
        if cells[column] in FREE_CELLS:
            cells[column] = mark
    return "".join(cells)


def marker_labels(columns: Mapping[int, str], width: int) -> dict[int, str]:
    """The text of each marker's label by its column. A label that the next one would touch is cut to its
    number, or left out, so that 3 and 4 never look like 34.
    """
    placed: dict[int, str] = {}
    for column, text in sorted(columns.items()):
        start = min(column, width - len(text))
        for other in [at for at, label in placed.items() if at + len(label) >= start]:
            number = placed.pop(other).partition(" ")[0]
            if other + len(number) < start:
                placed[other] = number
        placed[start] = text
    return placed


def time_axis_text(width: int, seconds_per_column: float) -> str:
    """Time labels below the columns: −60s … now, with `now` at the right edge."""
    step = _label_step(seconds_per_column)
    cells = [" "] * width
    _write(cells, width - 3, "now")
    column_step = step / seconds_per_column
    for position in range(1, int(width / column_step) + 1):
        # Labels are in minutes if all of them are whole minutes.
        seconds = step * position
        text = f"−{seconds}s" if step % 60 else f"−{seconds // 60}m"
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


def _write(cells: list[str], start: int, text: str) -> None:
    if start >= 0:
        cells[start : start + len(text)] = text


def share_runs(parts: Sequence[tuple[float, str]], width: int, rest: str) -> list[str]:
    """A bar of `width` cells, divided into parts by percent: the cells of each part, then the rest.

    The ends of the parts are rounded, not their lengths, so that the total length matches their sum.
    """
    runs: list[str] = []
    total, end = 0.0, 0
    for percent, glyph in parts:
        total += percent
        stop = min(width, max(end, round(total / 100 * width)))
        runs.append(glyph * (stop - end))
        end = stop
    return [*runs, rest * (width - end)]


ELLIPSIS = "…"

ROLES = (
    "title",
    "strong",
    "muted",
    "faint",
    "brand",
    "ok",
    "good",
    "warn",
    "risk",
    "alarm",
    "badge",
    "selected",
    "here",
    "reading",
    "frozen",
    "key",
    "tps",
    "qps",
    "latency",
    "server",
    "own",
    "rest",
)
"""Roles of spans; the plain role is the empty string."""


class _Span(NamedTuple):
    text: str
    role: str
    action: str


class TextSpan(_Span):
    """Text, its role, and the action of a click on it.

    Control characters in the text are escaped: much of it comes from a server or another user.
    """

    __slots__ = ()

    def __new__(cls, text: str, role: str = "", action: str = "") -> "TextSpan":
        return super().__new__(cls, sanitize.text(text), role, action)


TextLine = tuple[TextSpan, ...]


def plain_text(line: TextLine) -> str:
    """Text of a line without roles."""
    return "".join(span.text for span in line)


def line_width(line: TextLine) -> int:
    return sum(cell_len(span.text) for span in line)


def shorten(text: str, width: int) -> str:
    """The text in at most `width` cells, its end replaced by an ellipsis if it is longer."""
    text = sanitize.text(text)
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + ELLIPSIS if width > 0 else ""


def shorten_start(text: str, width: int) -> str:
    """The text in at most `width` cells; the start of a longer one is replaced by an ellipsis.

    A path is cut before a slash, so that the file name remains.
    """
    text = sanitize.text(text)
    if cell_len(text) <= width:
        return text
    kept = text[len(text) - width + 1 :]
    return ELLIPSIS + kept[max(kept.find("/"), 0) :] if width > 0 else ""


def fit_line(line: TextLine, width: int) -> TextLine:
    """The line cut to `width` cells."""
    kept: list[TextSpan] = []
    room = width
    for span in line:
        size = cell_len(span.text)
        if size > room:
            kept.append(span._replace(text=shorten(span.text, room)))
            break
        kept.append(span)
        room -= size
    return tuple(kept)


def pad_line(line: TextLine, width: int) -> TextLine:
    """The line in exactly `width` cells."""
    line = fit_line(line, width)
    missing = width - line_width(line)
    return (*line, TextSpan(" " * missing)) if missing > 0 else line


def justify(left: TextLine, right: TextLine, width: int) -> TextLine:
    """One line with `left` at its start and `right` at its end; if space is short, `left` is shortened."""
    right = fit_line(right, width)
    room = width - line_width(right)
    blank = bool(plain_text(left)) and bool(plain_text(right)) and not plain_text(right).startswith(" ")
    return (*pad_line(fit_line(left, room - blank), room), *right)


def merge_cells(cells: Iterable[tuple[str, str]]) -> TextLine:
    """Characters with their roles as a line; adjacent ones of the same role form one span."""
    return tuple(
        TextSpan("".join(glyph for glyph, _ in run), role) for role, run in groupby(cells, itemgetter(1))
    )


def join_parts(parts: Iterable[TextLine], separator: TextSpan) -> TextLine:
    """The non-empty parts, with a separator between them."""
    line: TextLine = ()
    for part in parts:
        if part:
            line = (*line, separator, *part) if line else part
    return line


_UNIT = r"%|±|(?:TPS|QPS|ms|µs|s|KiB|MiB|GiB)\b"
_WORD = re.compile(rf"(?:[^ \t\r\n]|(?<=[\d.]) (?={_UNIT})|(?<=±) (?=\d))+")
"""Matches a word; a number, its unit and its deviation are one word."""


def wrap_text(text: str, width: int) -> list[str]:
    """The text broken at blanks into lines of at most `width` cells; a number stays with its unit."""
    lines: list[str] = []
    for word in _WORD.findall(text):
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(shorten(word, width))
    return lines


CELL_ROLES = {"better": "good", "worse": "risk", "soft": "muted", "doubt": "warn"}
"""The screen's roles for those of a document that have another name."""
MIN_BAR, MAX_BAR = 15, 101


def table_lines(table: Table, name_width: int, rest_width: int, width: int) -> list[TextLine]:
    """The rows of a table whose second column has bars, which fill the room between names and other columns.

    A row of one cell is a heading; the first heading has the axis of the bars.
    """
    cells_wide = (max(MIN_BAR, min(MAX_BAR, width - name_width - rest_width)) - 1) // 2 * 2 + 1
    most = axis_of(table, 1)
    lines: list[TextLine] = []
    for name, *cells in table.rows:
        title = _span(name, cells_wide)
        if cells:
            shown = f"   {shorten(title.text, name_width):<{name_width}} "
            lines.append((title._replace(text=shown), *(_span(each, cells_wide) for each in cells)))
        else:
            axis = axis_text(most, cells_wide) if most and not lines else ""
            shown = f" {title.text:<{name_width + 2}} "
            lines.append((title._replace(text=shown), TextSpan(axis, "muted")))
    return lines


def _span(cell: Cell, cells_wide: int) -> TextSpan:
    """A cell as a span; an empty one is as wide as a bar."""
    match cell:
        case Bar():
            return TextSpan(bar_text(cell, cells_wide), CELL_ROLES.get(cell.role, cell.role))
        case Styled():
            return TextSpan(cell.text, CELL_ROLES.get(cell.role, cell.role))
        case _:
            return TextSpan(cell or " " * (cells_wide + 1))


def text_lines(lines: Sequence[str], width: int, role: str = "") -> list[TextLine]:
    """Sentences wrapped to the width; an indented one stays indented, and is muted."""
    written: list[TextLine] = []
    for line in lines:
        indent = "  " if line.startswith("  ") else ""
        own = "muted" if indent else role
        written += [(TextSpan(indent + part, own),) for part in wrap_text(line, width - len(indent))]
    return written


DIGIT_ROWS = 3

_BLOCK_DIGITS = {
    "0": ("█▀█", "█ █", "▀▀▀"),
    "1": ("▀█ ", " █ ", "▀▀▀"),
    "2": ("▀▀█", "█▀▀", "▀▀▀"),
    "3": ("▀▀█", " ▀█", "▀▀▀"),
    "4": ("█ █", "▀▀█", "  ▀"),
    "5": ("█▀▀", "▀▀█", "▀▀▀"),
    "6": ("█▀▀", "█▀█", "▀▀▀"),
    "7": ("▀▀█", "  █", "  ▀"),
    "8": ("█▀█", "█▀█", "▀▀▀"),
    "9": ("█▀█", "▀▀█", "▀▀▀"),
    ".": (" ", " ", "▀"),
    ",": (" ", " ", "█"),
    "–": ("   ", "▀▀▀", "   "),
}
"""Digits of half blocks, five dots high; the sixth row of dots is a space to the line below."""


def big_digits(text: str, *, ascii_only: bool = False) -> tuple[str, str, str]:
    """The digits of a text as three rows of equal width. Characters without a glyph are left out.

    With `ascii_only`, the text itself is in the middle row: digits drawn in ASCII are hard to read.
    """
    if ascii_only:
        return " " * len(text), text, " " * len(text)
    pictures = [_BLOCK_DIGITS[character] for character in text if character in _BLOCK_DIGITS]
    top, middle, bottom = (" ".join(picture[row] for picture in pictures) for row in range(DIGIT_ROWS))
    return top, middle, bottom


LETTER_HEIGHT = 5
"""Height of a letter in dots."""

LEAST_ASCII_SCALE = 2

LETTER_GAP = 1
"""Dots between two letters."""

_DOTS = {
    "0": ("###", "# #", "# #", "# #", "###"),
    "1": ("## ", " # ", " # ", " # ", "###"),
    "2": ("###", "  #", "###", "#  ", "###"),
    "3": ("###", "  #", " ##", "  #", "###"),
    "4": ("# #", "# #", "###", "  #", "  #"),
    "5": ("###", "#  ", "###", "  #", "###"),
    "6": ("###", "#  ", "###", "# #", "###"),
    "7": ("###", "  #", "  #", "  #", "  #"),
    "8": ("###", "# #", "###", "# #", "###"),
    "9": ("###", "# #", "###", "  #", "###"),
    ".": (" ", " ", " ", " ", "#"),
    ",": (" ", " ", " ", "#", "#"),
    "–": ("   ", "   ", "###", "   ", "   "),
    "−": ("   ", "   ", "###", "   ", "   "),
    "×": ("   ", "# #", " # ", "# #", "   "),
    "÷": (" # ", "   ", "###", "   ", " # "),
    ">": ("#  ", " # ", "  #", " # ", "#  "),
    "+": ("   ", " # ", "###", " # ", "   "),
    "=": ("   ", "###", "   ", "###", "   "),
    "?": ("## ", "  #", " # ", "   ", " # "),
    "%": ("# #", "  #", " # ", "#  ", "# #"),
    " ": ("  ", "  ", "  ", "  ", "  "),
    "A": (" # ", "# #", "###", "# #", "# #"),
    "B": ("## ", "# #", "## ", "# #", "## "),
    "D": ("## ", "# #", "# #", "# #", "## "),
    "E": ("###", "#  ", "###", "#  ", "###"),
    "I": ("###", " # ", " # ", " # ", "###"),
    "K": ("# #", "# #", "## ", "# #", "# #"),
    "L": ("#  ", "#  ", "#  ", "#  ", "###"),
    "R": ("## ", "# #", "## ", "# #", "# #"),
    "S": ("###", "#  ", "###", "  #", "###"),
    "T": ("###", " # ", " # ", " # ", " # "),
    "U": ("# #", "# #", "# #", "# #", "###"),
}
_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}


def width_in_dots(text: str) -> int:
    """Width of a text at scale 1; characters without a glyph have none."""
    known = [_DOTS[character] for character in text if character in _DOTS]
    return sum(len(rows[0]) for rows in known) + LETTER_GAP * max(0, len(known) - 1)


def largest_scale(text: str, width: int, height: int) -> int:
    """Largest scale at which a text fits; at least 1."""
    dots = width_in_dots(text)
    by_width = width // dots if dots else 1
    return max(1, min(by_width, 2 * height // LETTER_HEIGHT))


def big_letters(text: str, scale: int, *, ascii_only: bool = False) -> list[str]:
    """The text as rows of equal width. At an odd scale, the lowest half row is blank.

    With `ascii_only`, a dot is two characters wide and one row high, or the result is plain text.
    """
    if ascii_only and scale < LEAST_ASCII_SCALE:
        blank = " " * len(text)
        return [blank, text, blank]
    scale -= scale % LEAST_ASCII_SCALE if ascii_only else 0
    pictures = [_DOTS[character] for character in text if character in _DOTS]
    dots = [
        [dot for dot in row for _ in range(scale)]
        for row in (
            [[dot == "#" for dot in (" " * LETTER_GAP).join(rows)] for rows in zip(*pictures, strict=True)]
            or [[False]] * LETTER_HEIGHT
        )
        for _ in range(scale)
    ]
    if len(dots) % 2:
        dots.append([False] * len(dots[0]))
    pairs = zip(dots[::2], dots[1::2], strict=True)
    rows = ["".join(_HALVES[cell] for cell in zip(*pair, strict=True)) for pair in pairs]
    return [row.translate(_HALVES_TO_ASCII) for row in rows] if ascii_only else rows


_HALVES_TO_ASCII = str.maketrans({"█": "#"})
