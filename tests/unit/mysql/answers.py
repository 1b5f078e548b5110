"""Answers as servers send them, packet by packet."""

import struct
from collections.abc import Sequence

MORE_RESULTS = 0x0008
AUTOCOMMIT = 0x0002
COLUMN = b"\x03def" + b"\x06sbtest\x07sbtest1" * 2 + b"\x01c\x01c\x0c\x2d\x00"


def packet(sequence: int, payload: bytes) -> bytes:
    """A payload with its header; one that is too large for a packet in several."""
    if len(payload) < 0xFFFFFF:
        return struct.pack("<I", len(payload) | (sequence & 0xFF) << 24) + payload
    head = struct.pack("<I", 0xFFFFFF | (sequence & 0xFF) << 24) + payload[:0xFFFFFF]
    return head + packet(sequence + 1, payload[0xFFFFFF:])


def number(value: int) -> bytes:
    if value < 0xFB:
        return bytes((value,))
    return b"\xfc" + struct.pack("<H", value) if value < 1 << 16 else b"\xfe" + struct.pack("<Q", value)


def ok(affected: int = 0, status: int = AUTOCOMMIT, insert_id: int = 0, sequence: int = 1) -> bytes:
    return packet(sequence, b"\x00" + number(affected) + number(insert_id) + struct.pack("<HH", status, 0))


def err(code: int, words: str, sequence: int = 1, state: str = "#HY000") -> bytes:
    return packet(sequence, b"\xff" + struct.pack("<H", code) + (state + words).encode())


def result(
    rows: Sequence[bytes],
    *,
    columns: int = 1,
    cached: bool = False,
    without_eof: bool = True,
    status: int = AUTOCOMMIT,
    sequence: int = 1,
) -> bytes:
    """A result; `cached` columns are left out, as MariaDB may; the rows are whole payloads."""
    count = number(columns) + (b"\x00" if cached else b"")
    payloads = [count, *([] if cached else [COLUMN] * columns)]
    eof = b"\xfe" + struct.pack("<HH", 0, status)
    if not without_eof:
        payloads.append(eof)
    last = b"\xfe\x00\x00" + struct.pack("<HH", status, 0)
    payloads += [*rows, last if without_eof else eof]
    answer = b""
    for payload in payloads:
        answer += packet(sequence, payload)
        sequence += 1 + len(payload) // 0xFFFFFF
    return answer


def text_row(width: int) -> bytes:
    """A row of one column as a prepared statement returns it."""
    return b"\x00\x00" + number(width) + b"\xfe" * width
