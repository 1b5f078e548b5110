"""Statements as packets: in text, or prepared ones with their values in binary form."""

import struct
from typing import Any

from asyncmy.constants.COMMAND import COM_QUERY, COM_STMT_EXECUTE
from asyncmy.protocol import pack_binary_params

WHOLE = 0xFFFFFF
"""A packet of this size goes on in the next one."""

_FOUR_BYTES = struct.Struct("<I").pack
_WHOLE_NUMBERS = {count: struct.Struct(f"<{count}q").pack for count in range(1, 65)}
_LONGLONG = b"\x08\x00"
_TYPES_FOLLOW = b"\x01"
_QUERY = bytes((COM_QUERY,))


def framed(payload: bytes) -> bytes:
    """A payload as the packet that begins an exchange, or as several where it takes more than one."""
    if len(payload) < WHOLE:
        return _FOUR_BYTES(len(payload)) + payload
    pieces: list[bytes] = []
    for number, start in enumerate(range(0, len(payload) + 1, WHOLE)):
        piece = payload[start : start + WHOLE]
        pieces += (_FOUR_BYTES(len(piece) | (number & 0xFF) << 24), piece)
    return b"".join(pieces)


def text_packet(sql: str, encoding: str) -> bytes:
    """A statement in text."""
    return framed(_QUERY + sql.encode(encoding, "surrogateescape"))


class Execution:
    """The packets that execute one prepared statement, once for each set of values."""

    __slots__ = ("_encoding", "_head", "_numbers", "_pack_numbers")

    def __init__(self, identity: int, parameters: int, encoding: str) -> None:
        self._encoding = encoding
        self._head = struct.pack("<BIBI", COM_STMT_EXECUTE, identity, 0, 1)
        self._pack_numbers = _WHOLE_NUMBERS.get(parameters)
        types = bytes((parameters + 7) // 8) + _TYPES_FOLLOW + _LONGLONG * parameters
        size = len(self._head) + len(types) + 8 * parameters
        self._numbers = _FOUR_BYTES(size) + self._head + types

    def packet(self, values: tuple[Any, ...]) -> bytes:
        """The packet for these values; mostly they are whole numbers, all of them."""
        if self._pack_numbers is not None:
            try:
                return self._numbers + self._pack_numbers(*values)
            except struct.error:
                pass
        return framed(self._head + pack_binary_params(values, self._encoding) if values else self._head)
