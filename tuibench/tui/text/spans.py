"""Styled text independent of the toolkit: a line is a tuple of spans, a span is text with a role.

Panels produce lines, tests compare them as text, and only the stylesheet defines the style of a role. All
widths are terminal cells.
"""

import re
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from tuibench import sanitize

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
    """Like `shorten`, but keeps the end: the file name of a path matters most."""
    text = sanitize.text(text)
    if cell_len(text) <= width:
        return text
    return ELLIPSIS + text[len(text) - width + 1 :] if width > 0 else ""


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
    """One line with `left` at its start and `right` at its end; `left` is shortened, with a blank between."""
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
"""A word; the blanks between a number, its unit and its deviation are part of it."""


def wrap_text(text: str, width: int) -> list[str]:
    """Text broken at blanks into lines of at most `width` cells; a number stays with its unit."""
    lines: list[str] = []
    for word in _WORD.findall(text):
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(shorten(word, width))
    return lines
