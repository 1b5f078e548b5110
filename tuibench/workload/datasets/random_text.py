"""Fast random text and digits for loading tables.

The random bytes are a key stream of AES in counter mode: reproducible, and twenty times faster than Python's
generator.

Rows of random digits have one width (numbers in text are padded with spaces), so a batch is one block of
random digits, into which each constant column (quotes, dashes, lengths) is copied by a strided assignment.
This takes half a microsecond per row; single values take ten.
"""

import struct
from collections.abc import Sequence
from itertools import accumulate, pairwise
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from tuibench.workload.generate.random_values import GROUP_DIGITS

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext

DIGITS = b"0123456789"
LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ALPHANUMERICS = DIGITS + LETTERS + LETTERS.lower()

KEY_BYTES, BLOCK_BYTES = 16, 16


class RandomCharacters:
    """An endless stream of uniformly distributed characters of an alphabet."""

    def __init__(self, alphabet: bytes, key: bytes) -> None:
        size = len(alphabet)
        usable = 256 - 256 % size
        self._written = bytes(alphabet[byte % size] for byte in range(256))
        self._unusable = bytes(range(usable, 256))
        self._more_than_needed = 256 / usable * 1.025
        self._cipher = _encryptor(key)
        self._zeros = b""

    @classmethod
    def of(cls, alphabet: bytes, stream: Random) -> "RandomCharacters":
        """A stream whose key is the next bytes of a random stream."""
        return cls(alphabet, stream.randbytes(KEY_BYTES))

    def take(self, size: int) -> bytearray:
        """The next characters."""
        block = bytearray()
        while len(block) < size:
            wanted = int((size - len(block)) * self._more_than_needed) + 64
            if len(self._zeros) < wanted:
                self._zeros = bytes(wanted)
            drawn = self._cipher.update(memoryview(self._zeros)[:wanted])
            block += drawn.translate(self._written, self._unusable)
        del block[size:]
        return block

    def texts(self, lengths: Sequence[int]) -> list[bytes]:
        """A text for each length."""
        ends = list(accumulate(lengths, initial=0))
        block = bytes(self.take(ends[-1]))
        return [block[start:end] for start, end in pairwise(ends)]

    def equal(self, count: int, length: int) -> list[bytes]:
        """Texts of one length."""
        block = bytes(self.take(count * length))
        return [block[start : start + length] for start in range(0, count * length, length)]


def _encryptor(key: bytes) -> "CipherContext":
    """AES in counter mode. A process that generates no rows does not import the library."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CTR

    return Cipher(AES(key), CTR(bytes(BLOCK_BYTES))).encryptor()


class ConstantField(NamedTuple):
    """The same bytes in every row."""

    bytes: bytes


class NumberField(NamedTuple):
    """An integer as text with this width."""

    width: int


class Int32Field(NamedTuple):
    """An integer as four bytes, little-endian."""


class DigitGroupsField(NamedTuple):
    """Groups of random digits, separated by dashes."""

    groups: int

    @property
    def size(self) -> int:
        return self.groups * (GROUP_DIGITS + 1) - 1


RowField = ConstantField | NumberField | Int32Field | DigitGroupsField


class DigitRows:
    """Rows of these parts; the random digits have one key from `stream`."""

    def __init__(self, parts: Sequence[RowField], stream: Random) -> None:
        self._digits = RandomCharacters.of(DIGITS, stream)
        self._fixed: dict[int, int] = {}
        self._numbers: list[tuple[int, NumberField | Int32Field]] = []
        self.row_bytes = 0
        for part in parts:
            self.row_bytes += self._place(part, self.row_bytes)

    def _place(self, part: RowField, place: int) -> int:
        """Add the part's constant bytes; return its width."""
        match part:
            case ConstantField(bytes=constant):
                self._fixed.update(enumerate(constant, place))
                return len(constant)
            case DigitGroupsField() as groups:
                for dash in range(GROUP_DIGITS, groups.size, GROUP_DIGITS + 1):
                    self._fixed[place + dash] = ord("-")
                return groups.size
            case NumberField() | Int32Field():
                self._numbers.append((place, part))
                return part.width if isinstance(part, NumberField) else 4

    def rows(self, *numbers: Sequence[int]) -> bytearray:
        """One row per number; `numbers` has a sequence for each number column."""
        count = len(numbers[0])
        width = self.row_bytes
        block = self._digits.take(count * width)
        for place, byte in self._fixed.items():
            block[place::width] = bytes((byte,)) * count
        for (place, kind), column in zip(self._numbers, numbers, strict=True):
            text, size = _encode_numbers(kind, column)
            for offset in range(size):
                block[place + offset :: width] = text[offset::size]
        return block


def _encode_numbers(kind: NumberField | Int32Field, column: Sequence[int]) -> tuple[bytes, int]:
    """An encoded column of numbers, and the width of each."""
    if isinstance(kind, Int32Field):
        return struct.pack(f"<{len(column)}i", *column), 4
    return ((f"%{kind.width}d" * len(column)) % tuple(column)).encode(), kind.width
