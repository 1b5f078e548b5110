"""Letters and digits of any size, drawn in dots of half a cell: for what is read from the back of a room."""

from collections.abc import Sequence

HEIGHT = 5
"""Dots from the top of a letter to its foot."""

GAP = 1
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
    "+": ("   ", " # ", "###", " # ", "   "),
    "=": ("   ", "###", "   ", "###", "   "),
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
    """How wide a text is at scale 1; characters without a picture count for nothing."""
    known = [_DOTS[character] for character in text if character in _DOTS]
    return sum(len(rows[0]) for rows in known) + GAP * max(0, len(known) - 1)


def largest(text: str, width: int, height: int) -> int:
    """The largest scale at which a text fits; 1 at least."""
    dots = width_in_dots(text)
    by_width = width // dots if dots else 1
    return max(1, min(by_width, 2 * height // HEIGHT))


def lettering(text: str, scale: int, *, ascii_only: bool = False) -> list[str]:
    """The text as rows of equal width. At an odd scale the lowest half row stays free."""
    dots = _enlarged(_line(text), scale)
    if len(dots) % 2:
        dots.append([False] * len(dots[0]))
    pairs = zip(dots[::2], dots[1::2], strict=True)
    rows = ["".join(_HALVES[cell] for cell in zip(*pair, strict=True)) for pair in pairs]
    return [row.translate(_PLAIN) for row in rows] if ascii_only else rows


_PLAIN = str.maketrans({"█": "#", "▀": '"', "▄": "_"})


def _line(text: str) -> list[list[bool]]:
    pictures = [_DOTS[character] for character in text if character in _DOTS]
    return [[dot == "#" for dot in (" " * GAP).join(rows)] for rows in zip(*pictures, strict=True)] or [
        [False]
    ] * HEIGHT


def _enlarged(dots: Sequence[Sequence[bool]], scale: int) -> list[list[bool]]:
    return [[dot for dot in row for _ in range(scale)] for row in dots for _ in range(scale)]
