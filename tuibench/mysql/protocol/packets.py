"""Encoding of statements: text, or prepared with binary values.

Many statements are prepared on one connection in one round trip.

All COM_STMT_PREPARE packets are sent at once, and the responses are read in order: otherwise a login with
forty statements would wait forty times for its turn while a load keeps the event loop busy.
"""

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from tuibench.errors import ConnectionLostError, SQLError
from tuibench.mysql import errors
from tuibench.mysql.driver import COMMAND, pack_binary_params

MAX_PAYLOAD_BYTES = 0xFFFFFF
"""A packet of this size continues in the next one."""

LIST_IS_NO_VALUE = "a list is no value of a statement"

_PACK_HEADER = struct.Struct("<I").pack
_PACK_INTEGERS = {count: struct.Struct(f"<{count}q").pack for count in range(1, 65)}
_LONGLONG = b"\x08\x00"
_TYPES_FOLLOW = b"\x01"
_QUERY = bytes((COMMAND.COM_QUERY,))


def frame_payload(payload: bytes) -> bytes:
    """The payload as one packet that starts an exchange, or as several if it is too long for one."""
    if len(payload) < MAX_PAYLOAD_BYTES:
        return _PACK_HEADER(len(payload)) + payload
    pieces: list[bytes] = []
    for number, start in enumerate(range(0, len(payload) + 1, MAX_PAYLOAD_BYTES)):
        piece = payload[start : start + MAX_PAYLOAD_BYTES]
        pieces += (_PACK_HEADER(len(piece) | (number & 0xFF) << 24), piece)
    return b"".join(pieces)


def text_packet(sql: str, encoding: str) -> bytes:
    """A statement in text."""
    return frame_payload(_QUERY + sql.encode(encoding, "surrogateescape"))


class ExecuteCommand:
    """The packets that execute one prepared statement, once for each set of values."""

    __slots__ = ("_encoding", "_head", "_numbers", "_pack_numbers")

    def __init__(self, identity: int, parameters: int, encoding: str) -> None:
        self._encoding = encoding
        self._head = struct.pack("<BIBI", COMMAND.COM_STMT_EXECUTE, identity, 0, 1)
        self._pack_numbers = _PACK_INTEGERS.get(parameters)
        types = bytes((parameters + 7) // 8) + _TYPES_FOLLOW + _LONGLONG * parameters
        size = len(self._head) + len(types) + 8 * parameters
        self._numbers = _PACK_HEADER(size) + self._head + types

    def packet(self, values: tuple[Any, ...]) -> bytes:
        """The packet for these values; mostly they are whole numbers, all of them."""
        if self._pack_numbers is not None:
            try:
                return self._numbers + self._pack_numbers(*values)
            except struct.error:
                pass
        if any(type(value) is list for value in values):
            raise TypeError(LIST_IS_NO_VALUE)
        return frame_payload(
            self._head + pack_binary_params(values, self._encoding) if values else self._head
        )


_head = struct.Struct("<BIHH").unpack_from

_PREPARE_COMMAND = bytes((COMMAND.COM_STMT_PREPARE,))
PREPARE_BYTES = 1 << 26
"""How much a server may send while statements are prepared."""


class PreparedHandle(NamedTuple):
    """The server's number of a statement, how many placeholders it has, and its columns' definitions."""

    identity: int
    parameters: int
    definitions: tuple[bytes, ...] = ()


async def prepare_statements(raw: Any, texts: Sequence[str]) -> list[PreparedHandle | SQLError]:
    """The result for each statement: prepared, or its error. Raises ConnectionLostError."""
    encoding = raw.statement_encoding
    try:
        raw.write_bytes(b"".join(frame_payload(_PREPARE_COMMAND + text.encode(encoding)) for text in texts))
    except errors.DRIVER_ERRORS as error:
        raise errors.statement_error(error) from error
    with raw.read_limit(PREPARE_BYTES):
        return [await _read_prepare_response(raw) for _ in texts]


async def _read_prepare_response(raw: Any) -> PreparedHandle | SQLError:
    """The answer to one: its head, then the definitions of placeholders and columns."""
    raw.expect_response()
    try:
        head = await raw.read_packet()
        _, identity, columns, parameters = _head(head.get_all_data())
        await _read_definitions(raw, parameters)
        return PreparedHandle(identity, parameters, await _read_definitions(raw, columns))
    except (*errors.DRIVER_ERRORS, *errors.MALFORMED) as error:
        refusal = errors.statement_error(error)
        if isinstance(refusal, ConnectionLostError):
            raise refusal from error
        return refusal


async def _read_definitions(raw: Any, count: int) -> tuple[bytes, ...]:
    """Column definitions, with an EOF after them where servers send it."""
    definitions = tuple([(await raw.read_packet()).get_all_data() for _ in range(count)])
    if count and not raw.deprecates_eof:
        await raw.read_packet()
    return definitions
