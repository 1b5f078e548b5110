"""The binary log as bytes: row and statement format, incomplete ends, and what cannot be read."""

import struct

import pytest

from tests.tables import for_each
from tuibench.crash.ledger import LEDGER_TABLE, MAGIC, logged_transactions
from tuibench.errors import RunError

GTID, MARIADB_GTID, QUERY, XID, TABLE_MAP, V1, V2 = 33, 162, 2, 16, 19, 23, 30
LEDGER, OTHER = b"\x07\x01\0\0\0\0", b"\x08\x01\0\0\0\0"
CHECKSUM = b"\xaa\xbb\xcc\xdd"


def event(kind: int, body: bytes = b"") -> bytes:
    length = 19 + len(body) + len(CHECKSUM)
    return struct.pack("<IBIIIH", 1, kind, 1, length, 0, 0) + body + CHECKSUM


def table_map(number: bytes = LEDGER, name: str = LEDGER_TABLE) -> bytes:
    names = b"".join(bytes([len(each)]) + each + b"\0" for each in (b"sbtest", name.encode()))
    return event(TABLE_MAP, number + b"\x01\0" + names + b"\x03\x03\x03\x08\0\0")


def row(kind: int, *key: int, number: bytes = LEDGER) -> bytes:
    extra = b"\x02\0" if kind == V2 else b""
    return event(kind, number + b"\x01\0" + extra + b"\x03\xff\xf8" + struct.pack("<IIQ", *key))


def statement(*key: int) -> bytes:
    text = f"INSERT INTO {LEDGER_TABLE} VALUES ({', '.join(map(str, key))})"
    return event(QUERY, b"\0" * 13 + b"sbtest\0" + text.encode())


BIG = 2**40 + 5


@for_each(
    ("events", "expected"),
    [
        ([], set()),
        ([event(GTID), table_map(), row(V2, 3, 1, BIG), event(XID)], {(3, 1, BIG)}),
        ([event(MARIADB_GTID), table_map(), row(V1, 3, 1, 7), event(XID)], {(3, 1, 7)}),
        ([event(MARIADB_GTID), statement(0, 0, 7), event(XID)], {(0, 0, 7)}),
        ([event(GTID), table_map(), row(V2, 3, 1, 7)], set()),
        ([event(GTID), table_map(), row(V2, 3, 1, 7), event(GTID), event(XID)], set()),
        ([event(GTID), table_map(OTHER, "sbtest1"), row(V2, 3, 1, 7, number=OTHER), event(XID)], set()),
        (
            [
                *(event(GTID), table_map(), row(V2, 1, 0, 1), event(XID)),
                *(event(GTID), table_map(), row(V2, 2, 0, 1), event(XID)),
            ],
            {(1, 0, 1), (2, 0, 1)},
        ),
    ],
)
def test_what_is_logged(events: list[bytes], expected: set[tuple[int, int, int]]) -> None:
    assert logged_transactions([MAGIC + b"".join(events)]) == expected


def test_every_file_counts_and_a_transaction_ends_with_its_file() -> None:
    first = MAGIC + event(GTID) + table_map() + row(V2, 1, 0, 1) + event(XID) + event(GTID)
    begun = table_map() + row(V2, 1, 0, 2)
    assert logged_transactions([first + begun, MAGIC + event(XID)]) == {(1, 0, 1)}


def test_a_file_may_end_anywhere() -> None:
    """The transactions before the end count: one more with its last byte."""
    whole = MAGIC + b"".join(
        event(GTID) + table_map() + row(V2, 1, 0, number) + event(XID) for number in range(3)
    )
    found = [len(logged_transactions([whole[:end]])) for end in range(len(MAGIC), len(whole) + 1)]
    assert found == sorted(found)
    assert (found[0], found[-2], found[-1]) == (0, 2, 3)


def test_a_length_that_is_none_ends_the_file() -> None:
    data = MAGIC + struct.pack("<IBIIIH", 1, XID, 1, 0, 0, 0) + bytes(100)
    assert logged_transactions([data]) == set()


@for_each(
    ("data", "words"),
    [
        (b"\xfdbin" + bytes(50), "encrypted"),
        (MAGIC + event(164), "encrypted"),
        (MAGIC + event(40), "compressed"),
        (MAGIC + event(166), "compressed"),
    ],
)
def test_what_cannot_be_read_is_said(data: bytes, words: str) -> None:
    with pytest.raises(RunError, match=words):
        logged_transactions([data])
