"""The rows of a response: bytes in, tuples out; no I/O.

`response_parser` has found the end of the response, and that it is not an error; here it is read again,
packet by packet. The part before the rows is usually the same as before, and is then not parsed again.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any

from tuibench.errors import ProtocolError, SQLError
from tuibench.mysql.errors import MALFORMED
from tuibench.mysql.protocol import column_values
from tuibench.mysql.protocol.column_values import ResultColumn, parse_column_definition
from tuibench.mysql.protocol.fast_path import NULL
from tuibench.mysql.protocol.response_parser import (
    EOF,
    HEADER_BYTES,
    MAX_EOF_BYTES,
    MAX_PAYLOAD_BYTES,
    OK,
    read_length_encoded_int,
)
from tuibench.workload.program.limits import TOO_MANY_VALUES, LimitError

Row = tuple[Any, ...]

ReadRow = Callable[[bytes, int], tuple[Row, int]]
"""Reads a row whose packet begins at a place; returns it and where it ends."""

RowReaderFactory = Callable[[Sequence[ResultColumn], str], ReadRow]
"""What reads rows of these columns, whose texts are encoded so."""

EOF_BYTES = HEADER_BYTES + 5
MALFORMED_ROW = "its rows do not match their column definitions"
ER_INVALID_CHARACTER_STRING = 1300
NOT_ENCODED = (
    "the server sent a text that is not in utf8mb4: "
    "leave character_set_results (SET NAMES) as the login has set it"
)
MOST_ROWS = 250_000
"""Maximum number of rows per response: no query needs more, and a server could send rows without end."""

_unpack_packet = struct.Struct("<IB").unpack_from


class ResultReader:
    """Reads the responses to one statement. Its columns are kept, because servers may omit them later.

    `definitions` are those of the columns, if they are known before the first response. A result has at most
    `most_values` values, if that is set.
    """

    __slots__ = ("_definitions", "_encoding", "_form", "_gap", "_head", "_longest_eof", "_read_row",
                 "_where", "most_values")  # fmt: skip

    def __init__(
        self,
        form: RowReaderFactory,
        encoding: str,
        *,
        without_eof: bool,
        definitions: Sequence[bytes] = (),
        where: str = "",
    ) -> None:
        self._form = form
        self._where = where
        self.most_values: int | None = None
        self._encoding = encoding
        self._definitions = definitions
        self._gap = 0 if without_eof else EOF_BYTES
        self._longest_eof = MAX_PAYLOAD_BYTES - 1 if without_eof else MAX_EOF_BYTES
        self._head = b""
        self._read_row: ReadRow = form((), encoding)

    def read(self, answer: bytes) -> list[Row]:
        """The rows of a whole answer, of the first result if there are several; none if it is no result.

        Raises ProtocolError for what is no row, or too many, SQLError for a text not encoded as agreed, and
        LimitError for too many values.
        """
        head = self._head
        try:
            if not head or not answer.startswith(head):
                head = self._head = self._read_head(answer)
            return self._read_rows(answer, len(head) + self._gap) if head else []
        except LimitError:
            raise
        except UnicodeDecodeError as error:
            raise SQLError(ER_INVALID_CHARACTER_STRING, NOT_ENCODED) from error
        except ProtocolError as error:
            raise error.at(self._where) from error
        except MALFORMED as error:
            raise ProtocolError(MALFORMED_ROW, self._where) from error

    @property
    def definitions(self) -> Sequence[bytes]:
        """Those of the columns of the answer read last."""
        return self._definitions

    def _read_head(self, answer: bytes) -> bytes:
        """All that comes before the rows, but for an EOF; learns the columns from it. b"" of no result."""
        header, kind = _unpack_packet(answer, 0)
        place = (header & MAX_PAYLOAD_BYTES) + HEADER_BYTES
        if kind == OK:
            return b""
        width, end = read_length_encoded_int(answer, HEADER_BYTES)
        if end == place or answer[end]:
            self._definitions = []
            for _ in range(width):
                start = place + HEADER_BYTES
                place = start + (_unpack_packet(answer, place)[0] & MAX_PAYLOAD_BYTES)
                self._definitions.append(answer[start:place])
        if len(self._definitions) != width:
            raise ProtocolError(MALFORMED_ROW)
        self._read_row = self._form(
            [parse_column_definition(each) for each in self._definitions], self._encoding
        )
        return answer[:place]

    def _read_rows(self, answer: bytes, place: int) -> list[Row]:
        rows: list[Row] = []
        most = MOST_ROWS
        if self.most_values is not None:
            most = min(most, self.most_values // max(len(self._definitions), 1))
        while True:
            header, kind = _unpack_packet(answer, place)
            size = header & MAX_PAYLOAD_BYTES
            if kind == EOF and size <= self._longest_eof:
                return rows
            place += HEADER_BYTES
            if size == MAX_PAYLOAD_BYTES:
                row, place = self._large(answer, place)
            else:
                row = self._row(answer[place : place + size])
                place += size
            rows.append(row)
            if len(rows) > most:
                if most < MOST_ROWS:
                    raise LimitError(TOO_MANY_VALUES)
                raise ProtocolError(f"its response has more than {MOST_ROWS:,} rows")

    def _large(self, answer: bytes, place: int) -> tuple[Row, int]:
        """A row that takes several packets, and where the last one of them ends."""
        pieces, size = [], MAX_PAYLOAD_BYTES
        while size == MAX_PAYLOAD_BYTES:
            pieces.append(answer[place : place + MAX_PAYLOAD_BYTES])
            place += MAX_PAYLOAD_BYTES
            size = _unpack_packet(answer, place)[0] & MAX_PAYLOAD_BYTES
            place += HEADER_BYTES
        pieces.append(answer[place : place + size])
        return self._row(b"".join(pieces)), place + size

    def _row(self, payload: bytes) -> Row:
        row, end = self._read_row(payload, 0)
        if end != len(payload):
            raise ProtocolError(MALFORMED_ROW)
        return row


def text_row_reader(columns: Sequence[ResultColumn], encoding: str) -> ReadRow:
    """Rows as statements in text return them: each value's length and text."""
    converters = [column_values.text_converter(each, encoding) for each in columns]

    def read(data: bytes, place: int) -> tuple[Row, int]:
        values: list[Any] = []
        for convert in converters:
            if data[place] == NULL:
                values.append(None)
                place += 1
            else:
                size, place = read_length_encoded_int(data, place)
                end = place + size
                if end > len(data):
                    raise ProtocolError(MALFORMED_ROW)
                values.append(convert(data[place:end]))
                place = end
        return tuple(values), place

    return read


def binary_row_reader(columns: Sequence[ResultColumn], encoding: str) -> ReadRow:
    """Rows as prepared statements return them: a zero, a bit for each null, and the values that are none."""
    readers = [column_values.binary_reader(each, encoding) for each in columns]
    full = bytes(1 + (len(columns) + 9) // 8)

    def read(data: bytes, place: int) -> tuple[Row, int]:
        values: list[Any] = []
        start = place + len(full)
        if data.startswith(full, place):
            place = start
            for read_value in readers:
                value, place = read_value(data, place)
                values.append(value)
            return tuple(values), place
        nulls = int.from_bytes(data[place + 1 : start], "little") >> 2
        place = start
        for column_number, read_value in enumerate(readers):
            value = None
            if not nulls >> column_number & 1:
                value, place = read_value(data, place)
            values.append(value)
        return tuple(values), place

    return read
