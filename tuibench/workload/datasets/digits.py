"""Many rows of random digits at once, written as the VALUES of an INSERT.

All rows have the same width (numbers are padded with blanks), so a whole batch is one block of random digits
over which each constant column (quotes, commas, dashes) is laid with one strided assignment. That takes about
a microsecond a row; drawing value by value takes ten.
"""

from collections.abc import Sequence
from random import Random

from tuibench.workload.values import GROUP_DIGITS

_UNUSABLE = bytes(range(250, 256))
"""Bytes that would make some digits likelier than others: they are dropped."""

_DIGIT = bytes(48 + byte % 10 for byte in range(256))
_SPARE = 1.05
"""More bytes are drawn than needed, as 6 of 256 are dropped."""


class Layout:
    """Rows of the form `(id,k,'digits','digits')`, `number_width` characters to a number."""

    def __init__(self, number_width: int, groups: tuple[int, ...], stream: Random) -> None:
        self._stream = stream
        self._number_width = number_width
        self._fixed: dict[int, int] = {}
        self._numbers: list[int] = []
        place = self._number(self._put(0, "("))
        place = self._number(self._put(place, ","))
        for count in groups:
            place = self._groups(self._put(place, ",'"), count)
            place = self._put(place, "'")
        self.row_bytes = self._put(place, "),")

    def _put(self, place: int, text: str) -> int:
        self._fixed.update(enumerate(text.encode(), place))
        return place + len(text)

    def _number(self, place: int) -> int:
        self._numbers.append(place)
        return place + self._number_width

    def _groups(self, place: int, count: int) -> int:
        length = count * (GROUP_DIGITS + 1) - 1
        for dash in range(GROUP_DIGITS, length, GROUP_DIGITS + 1):
            self._put(place + dash, "-")
        return place + length

    def rows(self, *numbers: Sequence[int]) -> str:
        """One row for each number, joined by commas; `numbers` has one sequence for each number column."""
        count = len(numbers[0])
        width = self.row_bytes
        block = self._random_digits(count * width)
        for place, byte in self._fixed.items():
            block[place::width] = bytes((byte,)) * count
        for place, column in zip(self._numbers, numbers, strict=True):
            self._lay(block, place, column)
        del block[-1]
        return block.decode("ascii")

    def _lay(self, block: bytearray, place: int, column: Sequence[int]) -> None:
        width = self._number_width
        text = ((f"%{width}d" * len(column)) % tuple(column)).encode()
        for digit in range(width):
            block[place + digit :: self.row_bytes] = text[digit::width]

    def _random_digits(self, size: int) -> bytearray:
        block = bytearray()
        while len(block) < size:
            wanted = int((size - len(block)) * _SPARE) + 64
            block += self._stream.randbytes(wanted).translate(_DIGIT, _UNUSABLE)
        del block[size:]
        return block
