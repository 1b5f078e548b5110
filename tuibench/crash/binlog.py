"""Reads which transactions of the ledger are in the binary log.

The files are read as they are, after the recovery: neither a client program nor the server takes part. An
event begins with a header of 19 bytes (time, type, server, length, end position, flags). A row of the ledger
is in a row event, after a table map with the table's name and number, or, in statement format, in the text of
a query event. It counts only if the XID event of its transaction follows: a replica gets nothing else. A file
may end in the middle of an event, where the server was killed.
"""

import re
import struct
from collections.abc import Iterable, Iterator

from tuibench.crash.ledger import Key
from tuibench.errors import RunError

LEDGER_TABLE = "tuibench_ledger"
LEDGER_COLUMNS = "connection INT UNSIGNED, kind INT UNSIGNED, number BIGINT UNSIGNED"
"""All are parts of the primary key, so NOT NULL."""

LEDGER_INSERT = f"INSERT INTO {LEDGER_TABLE} VALUES "  # noqa: S608

MAGIC = b"\xfebin"
QUERY, XID, TABLE_MAP, WRITE_ROWS_V1, WRITE_ROWS_V2 = 2, 16, 19, 23, 30
BEGINNINGS = frozenset({33, 42, 162})
"""Events that begin a transaction: MySQL's GTID, anonymous or not, and MariaDB's."""

UNREADABLE = {40: "compressed", 164: "encrypted", **dict.fromkeys(range(165, 172), "compressed")}

_HEADER = struct.Struct("<IBIIIH")
_ROW = struct.Struct("<BIIQ")
_STATEMENT = re.compile(re.escape(LEDGER_INSERT).encode() + rb"\((\d+), (\d+), (\d+)\)")
_TABLE_NUMBER_BYTES, _POST_HEADER_BYTES = 6, {WRITE_ROWS_V1: 8, WRITE_ROWS_V2: 10}


def logged_transactions(files: Iterable[bytes]) -> set[Key]:
    """The transactions of the ledger in the contents of these files.

    Raises RunError for files that cannot be read: encrypted or compressed ones.
    """
    found: set[Key] = set()
    for data in files:
        tables: set[bytes] = set()
        pending: list[Key] = []
        for kind, body in _events(data):
            if kind in UNREADABLE:
                raise RunError(f"the binary log is {UNREADABLE[kind]}")
            if kind in BEGINNINGS:
                pending.clear()
            elif kind == TABLE_MAP and _table_name(body) == LEDGER_TABLE.encode():
                tables.add(body[:_TABLE_NUMBER_BYTES])
            elif kind in _POST_HEADER_BYTES and body[:_TABLE_NUMBER_BYTES] in tables:
                pending.append(_row(kind, body))
            elif kind == QUERY and (text := _STATEMENT.search(body)):
                pending.append((int(text[1]), int(text[2]), int(text[3])))
            elif kind == XID:
                found.update(pending)
                pending.clear()
    return found


def _events(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The complete events, as type and body; a checksum is part of the body."""
    if not data.startswith(MAGIC):
        raise RunError("the binary log is encrypted")
    place = len(MAGIC)
    while place + _HEADER.size <= len(data):
        _, kind, _, length, _, _ = _HEADER.unpack_from(data, place)
        if length < _HEADER.size or place + length > len(data):
            return
        yield kind, data[place + _HEADER.size : place + length]
        place += length


def _table_name(body: bytes) -> bytes:
    """Of a table map: number, flags, then both names with their lengths, each with a final zero."""
    place = _TABLE_NUMBER_BYTES + 2
    place += 1 + body[place] + 1
    return body[place + 1 : place + 1 + body[place]]


def _row(kind: int, body: bytes) -> Key:
    """The only row of a row event: after the numbers of columns, a bitmap of them and one of the nulls."""
    place = _POST_HEADER_BYTES[kind] + 1 + 1
    _, connection, transaction, number = _ROW.unpack_from(body, place)
    return connection, transaction, number
