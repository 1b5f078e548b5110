"""Styled text without a toolkit: a line is a tuple of spans, a span is text with a role.

Panels produce lines, tests compare them as text, and the stylesheet alone knows what a role looks like.
All widths are terminal cells.
"""

from collections.abc import Iterable
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

ELLIPSIS = "…"

ROLES = (
    "title",
    "strong",
    "muted",
    "faint",
    "brand",
    "ok",
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
"""Every role a span may have; the plain one is the empty string."""


class Span(NamedTuple):
    """Text, the role that styles it, and the action that a click on it runs."""

    text: str
    role: str = ""
    action: str = ""


Line = tuple[Span, ...]


def plain(line: Line) -> str:
    """The line's text alone."""
    return "".join(span.text for span in line)


def width_of(line: Line) -> int:
    return sum(cell_len(span.text) for span in line)


def shorten(text: str, width: int) -> str:
    """The text in at most `width` cells, its end replaced by an ellipsis when it is longer."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + ELLIPSIS if width > 0 else ""


def shorten_start(text: str, width: int) -> str:
    """Like `shorten`, but keeps the end: of a path, the file matters more than the root."""
    if cell_len(text) <= width:
        return text
    return ELLIPSIS + text[len(text) - width + 1 :] if width > 0 else ""


def fit(line: Line, width: int) -> Line:
    """The line cut to `width` cells."""
    kept: list[Span] = []
    room = width
    for span in line:
        size = cell_len(span.text)
        if size > room:
            kept.append(span._replace(text=shorten(span.text, room)))
            break
        kept.append(span)
        room -= size
    return tuple(kept)


def pad(line: Line, width: int) -> Line:
    """The line in exactly `width` cells."""
    line = fit(line, width)
    missing = width - width_of(line)
    return (*line, Span(" " * missing)) if missing > 0 else line


def spread(left: Line, right: Line, width: int) -> Line:
    """One line with `left` at its start and `right` at its end; `left` gives way, a blank between stays."""
    right = fit(right, width)
    room = width - width_of(right)
    blank = bool(plain(left)) and bool(plain(right)) and not plain(right).startswith(" ")
    return (*pad(fit(left, room - blank), room), *right)


def joined(parts: Iterable[Line], separator: Span) -> Line:
    """The parts that are not empty, with a separator between them."""
    line: Line = ()
    for part in parts:
        if part:
            line = (*line, separator, *part) if line else part
    return line


def wrapped(text: str, width: int) -> list[str]:
    """Text broken at blanks into lines of at most `width` cells."""
    lines: list[str] = []
    for word in text.split():
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(shorten(word, width))
    return lines
