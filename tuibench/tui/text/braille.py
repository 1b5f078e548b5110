"""Line drawing with braille characters: two by four dots per cell."""

DOTS_ACROSS, DOTS_HIGH = 2, 4
_FIRST = 0x2800
_BITS = ((0x40, 0x80), (0x04, 0x20), (0x02, 0x10), (0x01, 0x08))
"""Dot bits by row from the bottom, then by column."""
BRAILLE = tuple(chr(_FIRST + number) for number in range(256))


class DotGrid:
    """Dots of a drawing; column 0 is the leftmost, row 0 the lowest. Dots outside are ignored."""

    def __init__(self, width: int, height: int) -> None:
        """`width` and `height` are in cells."""
        self.columns, self.rows = width * DOTS_ACROSS, height * DOTS_HIGH
        self._cells: dict[tuple[int, int], int] = {}

    def dot(self, column: int, row: int) -> None:
        if 0 <= column < self.columns and 0 <= row < self.rows:
            place = (column // DOTS_ACROSS, row // DOTS_HIGH)
            bit = _BITS[row % DOTS_HIGH][column % DOTS_ACROSS]
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
