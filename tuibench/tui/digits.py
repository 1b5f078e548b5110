"""Big digits, three rows high: the three numbers that matter are the largest things on the screen."""

ROWS = 3

_BLOCK = {
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

_SEGMENT = {
    "0": (" _ ", "| |", "|_|"),
    "1": ("   ", "  |", "  |"),
    "2": (" _ ", " _|", "|_ "),
    "3": (" _ ", " _|", " _|"),
    "4": ("   ", "|_|", "  |"),
    "5": (" _ ", "|_ ", " _|"),
    "6": (" _ ", "|_ ", "|_|"),
    "7": (" _ ", "  |", "  |"),
    "8": (" _ ", "|_|", "|_|"),
    "9": (" _ ", "|_|", " _|"),
    ".": (" ", " ", "."),
    ",": (" ", " ", ","),
    "–": ("   ", " _ ", "   "),
}
"""Seven segments, for terminals without block characters."""


def big(text: str, *, ascii_only: bool = False) -> tuple[str, str, str]:
    """The text's digits as three rows of equal width. Characters without a picture are left out."""
    font = _SEGMENT if ascii_only else _BLOCK
    pictures = [font[character] for character in text if character in font]
    top, middle, bottom = (" ".join(picture[row] for picture in pictures) for row in range(ROWS))
    return top, middle, bottom
