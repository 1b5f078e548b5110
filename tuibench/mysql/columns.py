"""What the columns of a result are: their definitions as servers send them, in either protocol."""

import struct
from typing import NamedTuple

from tuibench.mysql.answer import number

NAMES = 6
"""Texts before the numbers: catalogue, database, table and column, the latter two also as they were made."""

UNSIGNED = 0x20
BINARY = 63
"""The character set of what is no text."""

_numbers = struct.Struct("<HIBHB").unpack_from


class Column(NamedTuple):
    """A column: its type, as the protocol numbers them, its character set, its digits behind the point."""

    kind: int
    charset: int
    is_unsigned: bool
    decimals: int


def column(definition: bytes) -> Column:
    """What a definition, the payload of its packet, says of its column."""
    place = 0
    for _ in range(NAMES):
        size, place = number(definition, place)
        place += size
    charset, _, kind, flags, decimals = _numbers(definition, place + 1)
    return Column(kind, charset, bool(flags & UNSIGNED), decimals)
