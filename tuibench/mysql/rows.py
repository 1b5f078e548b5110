"""The rows of an answer, for those who want them: bytes in, tuples out; no I/O.

`answer` has found where the answer ends, and that it is no refusal; here it is read once more, packet by
packet. What comes before the rows is mostly what it was the last time, and is not read again.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any

from tuibench.errors import ConnectionLostError, RunError
from tuibench.mysql import binary_values, text_values
from tuibench.mysql.answer import EOF, HEADER_BYTES, LONGEST_EOF, OK, OUT_OF_SYNC, WHOLE, number
from tuibench.mysql.columns import Column, column
from tuibench.mysql.glance import NULL

Row = tuple[Any, ...]

ReadRow = Callable[[bytes, int], tuple[Row, int]]
"""Reads a row whose packet begins at a place; returns it and where it ends."""

Form = Callable[[Sequence[Column], str], ReadRow]
"""What reads rows of these columns, whose texts are encoded so."""

EOF_BYTES = HEADER_BYTES + 5
SKEWED = "connection lost: the server's rows are not what their columns say"
ILL = (IndexError, KeyError, ValueError, ArithmeticError, struct.error)
"""What comes of reading a row as something else."""

_packet = struct.Struct("<IB").unpack_from


class Rows:
    """Reads the answers to one statement. Its columns are remembered: servers may leave them out then.

    `definitions` are those of the columns, if they are known before the first answer.
    """

    __slots__ = ("_definitions", "_encoding", "_form", "_gap", "_head", "_longest_eof", "_read_row")

    def __init__(
        self, form: Form, encoding: str, *, without_eof: bool, definitions: Sequence[bytes] = ()
    ) -> None:
        self._form = form
        self._encoding = encoding
        self._definitions = definitions
        self._gap = 0 if without_eof else EOF_BYTES
        self._longest_eof = WHOLE - 1 if without_eof else LONGEST_EOF
        self._head = b""
        self._read_row: ReadRow = form((), encoding)

    def read(self, answer: bytes) -> list[Row]:
        """The rows of a whole answer, of the first result if there are several; none if it is no result.

        Raises ConnectionLostError for what is no row, RunError for a text that is not encoded as agreed.
        """
        head = self._head
        try:
            if not head or not answer.startswith(head):
                head = self._head = self._read_head(answer)
            return self._read_rows(answer, len(head) + self._gap) if head else []
        except UnicodeDecodeError as error:
            raise RunError(
                f"the server sent a text that is not in {self._encoding}: {error.reason}",
                "leave character_set_results (SET NAMES) as the login has set it",
            ) from error
        except ILL as error:
            raise ConnectionLostError(OUT_OF_SYNC, SKEWED) from error

    def _read_head(self, answer: bytes) -> bytes:
        """All that comes before the rows, but for an EOF; learns the columns from it. b"" of no result."""
        header, kind = _packet(answer, 0)
        place = (header & WHOLE) + HEADER_BYTES
        if kind == OK:
            return b""
        width, told = number(answer, HEADER_BYTES)
        if told == place or answer[told]:
            self._definitions = []
            for _ in range(width):
                start = place + HEADER_BYTES
                place = start + (_packet(answer, place)[0] & WHOLE)
                self._definitions.append(answer[start:place])
        if len(self._definitions) != width:
            raise ConnectionLostError(OUT_OF_SYNC, SKEWED)
        self._read_row = self._form([column(each) for each in self._definitions], self._encoding)
        return answer[:place]

    def _read_rows(self, answer: bytes, place: int) -> list[Row]:
        rows: list[Row] = []
        read_row = self._read_row
        while True:
            header, kind = _packet(answer, place)
            size = header & WHOLE
            if kind == EOF and size <= self._longest_eof:
                return rows
            place += HEADER_BYTES
            if size == WHOLE:
                row, place = self._large(answer, place)
            else:
                row, end = read_row(answer, place)
                place += size
                if end != place:
                    raise ConnectionLostError(OUT_OF_SYNC, SKEWED)
            rows.append(row)

    def _large(self, answer: bytes, place: int) -> tuple[Row, int]:
        """A row that takes several packets, and where the last one of them ends."""
        pieces, size = [], WHOLE
        while size == WHOLE:
            pieces.append(answer[place : place + WHOLE])
            place += WHOLE
            size = _packet(answer, place)[0] & WHOLE
            place += HEADER_BYTES
        pieces.append(answer[place : place + size])
        row, _ = self._read_row(b"".join(pieces), 0)
        return row, place + size


def in_text(columns: Sequence[Column], encoding: str) -> ReadRow:
    """Rows as statements in text return them: each value's length and text."""
    converters = [text_values.converter(each, encoding) for each in columns]

    def read(data: bytes, place: int) -> tuple[Row, int]:
        values: list[Any] = []
        for convert in converters:
            if data[place] == NULL:
                values.append(None)
                place += 1
            else:
                size, place = number(data, place)
                values.append(convert(data[place : place + size]))
                place += size
        return tuple(values), place

    return read


def in_binary(columns: Sequence[Column], encoding: str) -> ReadRow:
    """Rows as prepared statements return them: a zero, a bit for each null, and the values that are none."""
    readers = [binary_values.reader(each, encoding) for each in columns]
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
