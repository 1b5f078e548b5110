"""Fast parsing of responses that arrive in one piece and have rows of equal width.

Much faster than `response_parser`, which reads all other responses and gives the same results. The header of
every packet is checked, so that nothing within a row is taken for the end.

A single row is usually enclosed by the same bytes as the previous one: the columns, and the end. Such frames
are cached, once for all connections of a process, and compared as a whole.
"""

import struct

OK, NULL, EOF, ERR = 0x00, 0xFB, 0xFE, 0xFF
HEADER_BYTES = 4
LENGTH_MASK = 0xFFFFFF
MORE_RESULTS = 0x0008
MIN_RESPONSE_BYTES = 11
END_BYTES = 11
"""The OK that ends a result, with its header: EOF's mark, two zeros, status, warnings."""

END_LENGTH = END_BYTES - HEADER_BYTES
MAX_ROWS = 4096
SEQUENCES = bytes(range(256)) * (MAX_ROWS // 256 + 1)

MAX_FRAMES = 1024
KEY_BYTES = 48
"""By so much of an answer its frame is found: how many columns, the first one's table, often its name."""

KEY_BYTES_WITHOUT_COLUMNS = 6
"""The same where MariaDB leaves the columns out: their number, and the zero that says so."""

_unpack_start = struct.Struct("<IBBBB").unpack_from
_unpack_end = struct.Struct("<IBHH").unpack_from
_unpack_header = struct.Struct("<I").unpack_from
_unpack_row = struct.Struct("<IB").unpack_from


_frames: dict[bytes, tuple[bytes, bytes, int, int, int]] = {}
"""What is before the row, and behind it; where it begins, the least bytes of such an answer, and what its
header is besides their number."""


def try_parse(data: bytes) -> int | None:
    """The affected or returned rows, if this is a complete response of a known form; otherwise None.

    Results are those of a server that omits EOFs (DEPRECATE_EOF).
    """
    size = len(data)
    if size < MIN_RESPONSE_BYTES:
        return None
    if data[4] == OK:
        header, _, second, third, status = _unpack_start(data)
        is_plain = second < NULL and third < NULL and not status & MORE_RESULTS
        return second if is_plain and header == size - HEADER_BYTES | 1 << 24 else None
    key = data[:KEY_BYTES] if data[5] else data[:KEY_BYTES_WITHOUT_COLUMNS]
    if key in _frames:
        before, behind, place, least, besides = _frames[key]
        if size >= least and data.startswith(before) and data.endswith(behind):
            header, kind = _unpack_row(data, place)
            if header == size + besides and kind < EOF:
                return 1
    return _parse_result_set(data, key)


def _parse_result_set(data: bytes, key: bytes) -> int | None:
    """The rows of a result whose frame is not known."""
    header, columns, second, *_ = _unpack_start(data)
    end = len(data) - END_BYTES
    last, mark, numbers, status = _unpack_end(data, end)
    if mark != EOF or numbers or status & MORE_RESULTS or last & LENGTH_MASK != END_LENGTH or columns >= NULL:
        return None
    if header >> 24 != 1:
        return None
    place, sequence = (header & LENGTH_MASK) + HEADER_BYTES, 2
    for _ in range(columns if second or place == HEADER_BYTES + 1 else 0):
        column = _unpack_header(data, place)[0] if place <= end else 0
        if column >> 24 != sequence:
            return None
        place += (column & LENGTH_MASK) + HEADER_BYTES
        sequence = sequence + 1 & 0xFF
    rows = _count_rows(data, place, end, sequence, last >> 24)
    if rows == 1:
        _remember(key, data, place, sequence)
    return rows


def _remember(key: bytes, data: bytes, place: int, sequence: int) -> None:
    """Remembers what is around the one row that begins at `place`."""
    if len(_frames) >= MAX_FRAMES:
        _frames.clear()
    around = place + HEADER_BYTES + END_BYTES
    _frames[key] = data[:place], data[-END_BYTES:], place, around + 1, (sequence << 24) - around


def _count_rows(data: bytes, place: int, end: int, sequence: int, last: int) -> int | None:
    """How many rows of one width fill the bytes up to `end`, where the packet has the sequence `last`."""
    if place >= end:
        return 0 if place == end and sequence == last else None
    header, kind = _unpack_row(data, place)
    length = header & LENGTH_MASK
    rows, rest = divmod(end - place, length + HEADER_BYTES)
    if rest or not length or kind >= EOF or header >> 24 != sequence or (sequence + rows) & 0xFF != last:
        return None
    return rows if rows == 1 or _are_alike(data, place, end, rows) else None


def _are_alike(data: bytes, place: int, end: int, rows: int) -> bool:
    """Whether these packets are rows of the first one's length, in sequence."""
    stride = (end - place) // rows
    kinds = data[place + HEADER_BYTES : end : stride]
    sequence = data[place + 3]
    return (
        rows <= MAX_ROWS
        and data[place:end:stride] == data[place : place + 1] * rows
        and data[place + 1 : end : stride] == data[place + 1 : place + 2] * rows
        and data[place + 2 : end : stride] == data[place + 2 : place + 3] * rows
        and data[place + 3 : end : stride] == SEQUENCES[sequence : sequence + rows]
        and EOF not in kinds
        and ERR not in kinds
    )
