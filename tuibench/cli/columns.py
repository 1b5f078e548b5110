"""Lists for people: columns as wide as they must be, numbers to the right."""

from collections.abc import Sequence

GAP = "  "


def aligned(rows: Sequence[Sequence[str]], first_number: int) -> str:
    """The rows, one a line; from column `first_number` on they hold numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        GAP.join(
            cell.rjust(width) if place >= first_number else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def width_of(rows: Sequence[Sequence[str]]) -> int:
    """How wide the longest line of the list is."""
    return sum(max(map(len, column)) for column in zip(*rows, strict=True)) + len(GAP) * (len(rows[0]) - 1)
