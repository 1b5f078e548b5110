"""Parser of the response to one statement: its end, status and errors, without decoding rows.

Bytes in, verdict out; no I/O. An answer is a train of packets (three bytes of length, one of sequence):

    OK                                  the statement affected rows; or ERR: it failed
    count, columns, [EOF], rows, EOF    a result; where both sides agreed on DEPRECATE_EOF, without the first
                                        EOF, and with an OK that begins like one in place of the last

and another response after it if its status says so, as after a CALL. The columns are missing where the server
says, behind the count, that they are what they were. Rows of one width are counted many at a time: those of a
load are mostly alike.
"""

import struct
from collections.abc import Sequence

from tuibench.errors import ProtocolError, SQLError
from tuibench.mysql import errors

OK, LOCAL_INFILE, EOF, ERR = 0x00, 0xFB, 0xFE, 0xFF
HEADER_BYTES = 4
MAX_PAYLOAD_BYTES = 0xFFFFFF
"""A packet of this size continues in the next one."""

MAX_EOF_BYTES = 8
MOST_COLUMNS = 0xFFFF
"""The servers' own limit is 4096 for a table; a prepared statement cannot announce more than this."""

TOO_MANY_COLUMNS = f"it announces more than {MOST_COLUMNS:,} columns"
MORE_RESULTS = 0x0008
SQL_STATE_BYTES = 6

MIN_ALIKE_ROWS, MAX_ALIKE_ROWS = 4, 4096
"""Minimum and maximum number of rows that are checked at once."""

NAMES_BEFORE = 4
"""Texts of a column's definition before its name: catalogue, database, table, the table as it was made."""

SEQUENCES = bytes(range(256)) * (MAX_ALIKE_ROWS // 256 + 1)

_WIDTHS = {0xFC: 2, 0xFD: 3, 0xFE: 8}
_header = struct.Struct("<HBB").unpack_from
_first_byte = struct.Struct("<IB").unpack_from
_short = struct.Struct("<H").unpack_from


class ResponseParser:
    """Parses one response after the other: `feed` the received bytes until it returns the number of rows.

    Bytes after a response belong to the next one. `is_new` is True until bytes of the next one have arrived.
    """

    __slots__ = ("_affected", "_are_alike", "_earlier", "_has_eof", "_in_rows", "_left", "_longest_eof",
                 "_sequence", "_skip", "is_new")  # fmt: skip

    def __init__(self, *, without_eof: bool) -> None:
        self._has_eof = not without_eof
        self._longest_eof = MAX_PAYLOAD_BYTES - 1 if without_eof else MAX_EOF_BYTES
        self._left = b""
        self._begin()

    def feed(self, data: bytes) -> int | None:
        """Parse received bytes. At the end of the response, returns the affected rows, or the rows of a
        result.

        Raises SQLError if the server refused the statement, ProtocolError for an invalid response.
        """
        try:
            affected = self._read_on(self._left + data)
        except SQLError:
            self._begin()
            raise
        except errors.MALFORMED as error:
            raise ProtocolError("a packet is shorter than its header says") from error
        if affected is not None:
            self._begin()
        else:
            self.is_new = False
        return affected

    def _begin(self) -> None:
        """The next answer is a new one."""
        self.is_new = not self._left
        self._affected = 0
        self._earlier: int | None = None
        self._are_alike = True
        self._in_rows = False
        self._sequence = 1
        self._skip = 0

    def _read_on(self, data: bytes) -> int | None:
        """Reads all packets that are there in full."""
        place, end = 0, len(data)
        while end - place >= HEADER_BYTES:
            low, high, sequence = _header(data, place)
            size, body = low | high << 16, place + HEADER_BYTES
            following = body + size
            if following > end:
                break
            if sequence != self._sequence or not size:
                self._allow(data, body, size)
            self._sequence = sequence + 1 & 0xFF
            if self._skip:
                self._skip -= size < MAX_PAYLOAD_BYTES
            elif self._in_rows and not self._is_last(data[body], size):
                following = self._row(data, following, size)
            elif self._read(data[body:following], data, following):
                self._left = data[following:]
                return self._affected
            place = following
        self._left = data[place:]
        return None

    def _allow(self, data: bytes, body: int, size: int) -> None:
        """What is out of sequence: the last words of a server that closes the connection, or nonsense.

        An empty packet only ends one that is a multiple of the largest.
        """
        if (size and data[body] != ERR) or (not size and not self._skip):
            raise ProtocolError("its packets are out of order")

    def _is_last(self, kind: int, size: int) -> bool:
        return kind == ERR or (kind == EOF and size <= self._longest_eof)

    def _row(self, data: bytes, following: int, size: int) -> int:
        """Counts a row, and those behind it if they are alike; returns where they end."""
        self._affected += 1
        if size == MAX_PAYLOAD_BYTES:
            self._skip = 1
            return following
        rows = count_equal_sized_rows(data, following, size, self._sequence) if self._are_alike else None
        if rows is None:
            self._are_alike = False
            return self._walk(data, following)
        self._affected += rows
        self._sequence = self._sequence + rows & 0xFF
        return following + rows * (HEADER_BYTES + size)

    def _walk(self, data: bytes, place: int) -> int:
        """Counts the rows from this place on, one after the other, up to what is not plainly a row."""
        start_of_last, end, unpack = len(data) - HEADER_BYTES, len(data), _first_byte
        rows, sequence = 0, self._sequence
        while place < start_of_last:
            header, kind = unpack(data, place)
            size = header & MAX_PAYLOAD_BYTES
            following = place + HEADER_BYTES + size
            if kind >= EOF or following > end or not 0 < size < MAX_PAYLOAD_BYTES or header >> 24 != sequence:
                break
            place = following
            sequence = sequence + 1 & 0xFF
            rows += 1
        self._sequence = sequence
        self._affected += rows
        return place

    def _read(self, payload: bytes, data: bytes, following: int) -> bool:
        """Reads the first packet of an answer, or its last; True if there is nothing behind it."""
        kind = payload[0]
        if kind == ERR:
            self._left = data[following:]
            raise errors.error_for_code(*parse_error_packet(payload))
        if self._in_rows:
            self._in_rows = False
            return self._is_over(payload, 3 if self._has_eof else _status_offset(payload, 0))
        if kind == OK:
            self._affected, _ = read_length_encoded_int(payload, 1)
            return self._is_over(payload, _status_offset(payload, 0))
        if kind == LOCAL_INFILE:
            raise ProtocolError("it asks for a file")
        columns, end = read_length_encoded_int(payload, 0)
        has_definitions = end == len(payload) or payload[end]
        if columns > MOST_COLUMNS:
            raise ProtocolError(TOO_MANY_COLUMNS)
        self._in_rows = True
        self._skip = (columns if has_definitions else 0) + self._has_eof
        return False

    def _is_over(self, payload: bytes, status: int) -> bool:
        """Whether this was all; of several answers to one statement the first one counts."""
        first = self._affected if self._earlier is None else self._earlier
        if _short(payload, status)[0] & MORE_RESULTS:
            self._earlier, self._affected = first, 0
            return False
        self._affected = first
        return True


def count_equal_sized_rows(data: bytes, start: int, size: int, sequence: int) -> int | None:
    """The number of rows of this size from `start`, with consecutive sequence numbers; None if they differ.

    The last packet of a result is shorter than two rows, so that much is not counted.
    """
    stride = size + HEADER_BYTES
    rows = min((len(data) - start) // stride - 1, MAX_ALIKE_ROWS)
    if rows < MIN_ALIKE_ROWS:
        return 0
    end = start + rows * stride
    sizes = (
        data[start + byte : end : stride] == bytes((size >> 8 * byte & 0xFF,)) * rows for byte in range(3)
    )
    kinds = data[start + HEADER_BYTES : end : stride]
    in_order = data[start + 3 : end : stride] == SEQUENCES[sequence : sequence + rows]
    return rows if in_order and all(sizes) and EOF not in kinds and ERR not in kinds else None


def read_length_encoded_int(data: bytes, place: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    first = data[place]
    if first < LOCAL_INFILE:
        return first, place + 1
    end = place + 1 + _WIDTHS[first]
    if end > len(data):
        raise IndexError("a number is longer than its packet")
    return int.from_bytes(data[place + 1 : end], "little"), end


def parse_error_packet(packet: bytes) -> tuple[int, str]:
    """The code and the message of an ERR packet; an SQL state may precede the message."""
    words = packet[3:]
    if words.startswith(b"#"):
        words = words[SQL_STATE_BYTES:]
    return _short(packet, 1)[0], words.decode("utf-8", "replace")


def _status_offset(data: bytes, body: int) -> int:
    """Where an OK packet has its status: behind the rows affected and the last id inserted."""
    _, place = read_length_encoded_int(data, body + 1)
    return read_length_encoded_int(data, place)[1]


def status_of(answer: bytes) -> int | None:
    """The server's status, from the OK that a statement without a result is answered with; None of others.

    The answer must have been read to its end.
    """
    if answer[HEADER_BYTES] != OK:
        return None
    return int(_short(answer, _status_offset(answer, HEADER_BYTES))[0])


def affected_rows(answer: bytes) -> int:
    """How many rows a statement without a result affected."""
    return read_length_encoded_int(answer, HEADER_BYTES + 1)[0]


def column_names(definitions: Sequence[bytes], encoding: str) -> list[str]:
    """The names of a result's columns, from their definitions."""
    return [_column_name(definition).decode(encoding, "replace") for definition in definitions]


def _column_name(definition: bytes) -> bytes:
    place = 0
    for _ in range(NAMES_BEFORE):
        size, place = read_length_encoded_int(definition, place)
        place += size
    size, place = read_length_encoded_int(definition, place)
    return definition[place : place + size]
