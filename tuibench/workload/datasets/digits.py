"""Many rows of random digits at once, in one block of bytes.

All rows have the same width (numbers in text are padded with blanks), so a whole batch is one block of random
digits over which each constant column (quotes, dashes, lengths) is laid with one strided assignment. That
takes half a microsecond a row; drawing value by value takes ten.
"""

import struct
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from tuibench.workload.datasets.characters import DIGITS, Characters
from tuibench.workload.values import GROUP_DIGITS


class Constant(NamedTuple):
    """The same bytes in every row."""

    bytes: bytes


class Number(NamedTuple):
    """A whole number in text, as wide as this."""

    width: int


class Int32(NamedTuple):
    """A whole number as four bytes, the lowest first."""


class Groups(NamedTuple):
    """So many groups of random digits with dashes between them."""

    groups: int

    @property
    def size(self) -> int:
        return self.groups * (GROUP_DIGITS + 1) - 1


Part = Constant | Number | Int32 | Groups


class Layout:
    """Rows that consist of these parts; the random digits come from `stream`, one key for all."""

    def __init__(self, parts: Sequence[Part], stream: Random) -> None:
        self._digits = Characters.of(DIGITS, stream)
        self._fixed: dict[int, int] = {}
        self._numbers: list[tuple[int, Number | Int32]] = []
        self.row_bytes = 0
        for part in parts:
            self.row_bytes += self._place(part, self.row_bytes)

    def _place(self, part: Part, place: int) -> int:
        """Notes what the part fixes of a row; returns its width."""
        match part:
            case Constant(bytes=constant):
                self._fixed.update(enumerate(constant, place))
                return len(constant)
            case Groups() as groups:
                for dash in range(GROUP_DIGITS, groups.size, GROUP_DIGITS + 1):
                    self._fixed[place + dash] = ord("-")
                return groups.size
            case Number() | Int32():
                self._numbers.append((place, part))
                return part.width if isinstance(part, Number) else 4

    def rows(self, *numbers: Sequence[int]) -> bytearray:
        """One row for each number; `numbers` has one sequence for each number column."""
        count = len(numbers[0])
        width = self.row_bytes
        block = self._digits.take(count * width)
        for place, byte in self._fixed.items():
            block[place::width] = bytes((byte,)) * count
        for (place, kind), column in zip(self._numbers, numbers, strict=True):
            text, size = _written(kind, column)
            for offset in range(size):
                block[place + offset :: width] = text[offset::size]
        return block


def _written(kind: Number | Int32, column: Sequence[int]) -> tuple[bytes, int]:
    """A column of numbers one after the other, and the width of each."""
    if isinstance(kind, Int32):
        return struct.pack(f"<{len(column)}i", *column), 4
    return ((f"%{kind.width}d" * len(column)) % tuple(column)).encode(), kind.width
