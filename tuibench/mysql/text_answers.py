"""Parts of a response apart from its rows: status and affected rows of an OK, column names."""

import struct
from collections.abc import Sequence

from tuibench.mysql.protocol.response_parser import HEADER_BYTES, OK, read_length_encoded_int

NAMES_BEFORE = 4
"""Texts of a definition before the column's name: catalogue, database, table, the table as it was made."""

_short = struct.Struct("<H").unpack_from


def status_of(answer: bytes) -> int | None:
    """The server's status, from the OK that a statement without a result is answered with; None of others.

    The answer must have been read to its end (see `answer`).
    """
    if answer[HEADER_BYTES] != OK:
        return None
    _, place = read_length_encoded_int(answer, HEADER_BYTES + 1)
    _, place = read_length_encoded_int(answer, place)
    return int(_short(answer, place)[0])


def affected(answer: bytes) -> int:
    """How many rows a statement without a result affected."""
    return read_length_encoded_int(answer, HEADER_BYTES + 1)[0]


def column_names(definitions: Sequence[bytes], encoding: str) -> list[str]:
    """The names of a result's columns, from their definitions."""
    return [_name(definition).decode(encoding, "replace") for definition in definitions]


def _name(definition: bytes) -> bytes:
    place = 0
    for _ in range(NAMES_BEFORE):
        size, place = read_length_encoded_int(definition, place)
        place += size
    size, place = read_length_encoded_int(definition, place)
    return definition[place : place + size]
