"""Answers as servers send them, packet by packet."""

import struct
from collections.abc import Sequence

MORE_RESULTS = 0x0008
AUTOCOMMIT = 0x0002
STRING, UTF8MB4 = 254, 45


def definition(kind: int = STRING, charset: int = UTF8MB4, flags: int = 0, decimals: int = 0) -> bytes:
    """What an answer says of a column."""
    names = b"\x03def\x06sbtest\x07sbtest1\x07sbtest1\x01c\x01c"
    return names + b"\x0c" + struct.pack("<HIBHBH", charset, 480, kind, flags, decimals, 0)


def packet(sequence: int, payload: bytes) -> bytes:
    """A payload with its header; one that is too large for a packet in several."""
    if len(payload) < 0xFFFFFF:
        return struct.pack("<I", len(payload) | (sequence & 0xFF) << 24) + payload
    head = struct.pack("<I", 0xFFFFFF | (sequence & 0xFF) << 24) + payload[:0xFFFFFF]
    return head + packet(sequence + 1, payload[0xFFFFFF:])


def number(value: int) -> bytes:
    if value < 0xFB:
        return bytes((value,))
    mark, size = next(
        (mark, size) for mark, size in ((0xFC, 2), (0xFD, 3), (0xFE, 8)) if value < 1 << 8 * size
    )
    return bytes((mark,)) + value.to_bytes(size, "little")


def ok(affected: int = 0, status: int = AUTOCOMMIT, insert_id: int = 0, sequence: int = 1) -> bytes:
    return packet(sequence, b"\x00" + number(affected) + number(insert_id) + struct.pack("<HH", status, 0))


def err(code: int, words: str, sequence: int = 1, state: str = "#HY000") -> bytes:
    return packet(sequence, b"\xff" + struct.pack("<H", code) + (state + words).encode())


def result(
    rows: Sequence[bytes],
    *,
    columns: int | Sequence[bytes] = 1,
    cached: bool = False,
    without_eof: bool = True,
    status: int = AUTOCOMMIT,
    sequence: int = 1,
) -> bytes:
    """A result; `cached` columns are left out, as MariaDB may; the rows are whole payloads.

    The columns are told by their definitions, or as so many of one text each.
    """
    definitions = [definition()] * columns if isinstance(columns, int) else columns
    payloads = [number(len(definitions)) + b"\x00" * cached, *([] if cached else definitions)]
    eof = b"\xfe" + struct.pack("<HH", 0, status)
    if not without_eof:
        payloads.append(eof)
    last = b"\xfe\x00\x00" + struct.pack("<HH", status, 0)
    payloads += [*rows, last if without_eof else eof]
    packets = []
    for payload in payloads:
        packets.append(packet(sequence, payload))
        sequence += 1 + len(payload) // 0xFFFFFF
    return b"".join(packets)


def text_row(width: int) -> bytes:
    """A row of one column as a prepared statement returns it."""
    return b"\x00\x00" + number(width) + b"\xfe" * width
