"""Big letters and digits: three rows high, or of any size.

Letters of any size are drawn in dots of half a cell, legible from the back of a room.
"""

from collections.abc import Sequence

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
"""Half blocks, five dots high; the sixth row of dots stays free as space to the line below."""


def big_digits(text: str, *, ascii_only: bool = False) -> tuple[str, str, str]:
    """The text's digits as three rows of equal width. Characters without a glyph are left out.

    Without block characters the text itself is in the middle row: digits drawn in ASCII are hard to read.
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
    """The text as rows of equal width. At an odd scale the lowest half row is blank.

    Without block characters a dot is two characters wide and one row high, or the result is plain text.
    """
    if ascii_only and scale < LEAST_ASCII_SCALE:
        blank = " " * len(text)
        return [blank, text, blank]
    scale -= scale % LEAST_ASCII_SCALE if ascii_only else 0
    dots = _scale_dots(_letter_dots(text), scale)
    if len(dots) % 2:
        dots.append([False] * len(dots[0]))
    pairs = zip(dots[::2], dots[1::2], strict=True)
    rows = ["".join(_HALVES[cell] for cell in zip(*pair, strict=True)) for pair in pairs]
    return [row.translate(_HALVES_TO_ASCII) for row in rows] if ascii_only else rows


_HALVES_TO_ASCII = str.maketrans({"█": "#"})


def _letter_dots(text: str) -> list[list[bool]]:
    pictures = [_DOTS[character] for character in text if character in _DOTS]
    return [
        [dot == "#" for dot in (" " * LETTER_GAP).join(rows)] for rows in zip(*pictures, strict=True)
    ] or [[False]] * LETTER_HEIGHT


def _scale_dots(dots: Sequence[Sequence[bool]], scale: int) -> list[list[bool]]:
    return [[dot for dot in row for _ in range(scale)] for row in dots for _ in range(scale)]
