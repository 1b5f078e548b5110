"""The rows of a response, decoded from the text or the binary protocol: bytes in, tuples out; no I/O.

`packets` has found the end of the response, and that it is not an error; here it is read again, packet by
packet. The part before the rows is usually the same as before, and is then not parsed again.

Both protocols give the same values, except for FLOAT, of which servers write six digits as text. Invalid
dates (0000-00-00, 2024-02-31) stay texts, so that they can be bound again. In the binary protocol, numbers
have one width for each type, dates and times leave out trailing zeros, and all other values are texts with a
length.
"""

import codecs
import re
import struct
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from math import isfinite
from operator import methodcaller
from typing import Any, NamedTuple

from tuibench.base.errors import ProtocolError, SQLError
from tuibench.mysql.driver import FIELD_TYPE
from tuibench.mysql.errors import MALFORMED
from tuibench.mysql.packets import (
    EOF,
    HEADER_BYTES,
    MAX_EOF_BYTES,
    MAX_PAYLOAD_BYTES,
    OK,
    read_length_encoded_int,
)
from tuibench.mysql.statements import NULL
from tuibench.workload.limits import TOO_MANY_VALUES, LimitError

NAME_FIELDS = 6
"""Texts before the numbers of a definition: catalogue, database, table, original table, column, original
column.
"""

UNSIGNED_FLAG = 0x20
BINARY_CHARSET = 63
"""The character set of binary values."""

_unpack_fixed_fields = struct.Struct("<HIBHB").unpack_from


class ResultColumn(NamedTuple):
    """A column of a result."""

    kind: int
    """The protocol's number of its type."""
    charset: int
    """The number of its character set."""
    is_unsigned: bool
    decimals: int
    """Digits after the decimal point."""


def parse_column_definition(definition: bytes) -> ResultColumn:
    """The column described by the payload of a definition packet."""
    place = 0
    for _ in range(NAME_FIELDS):
        size, place = read_length_encoded_int(definition, place)
        place += size
    charset, _, kind, flags, decimals = _unpack_fixed_fields(definition, place + 1)
    return ResultColumn(kind, charset, bool(flags & UNSIGNED_FLAG), decimals)


MICROSECOND_DIGITS = 6

TextConverter = Callable[[bytes], Any]


def text_converter(column: ResultColumn, encoding: str) -> TextConverter:
    """The function that converts a column's values from text. Columns without a character set return
    bytes.
    """
    if column.kind in TEXT_CONVERTERS:
        return TEXT_CONVERTERS[column.kind]
    if column.charset == BINARY_CHARSET and column.kind != FIELD_TYPE.JSON:
        return bytes
    # Decoding without an argument (UTF-8) takes a quarter of the time.
    return bytes.decode if codecs.lookup(encoding).name == "utf-8" else methodcaller("decode", encoding)


_is_integer = re.compile(rb"[+-]?[0-9]{1,38}").fullmatch
_is_number = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,12})?").fullmatch
_is_datetime = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?").fullmatch
_is_date = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}").fullmatch
_parts_of_time = re.compile(rb"(-?)([0-9]{2,3}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?").fullmatch
LONGEST_TIME = timedelta(hours=839)
"""Every TIME of a server is shorter."""


def to_integer(text: bytes) -> int:
    if not _is_integer(text):
        raise ValueError("no whole number")
    return int(text)


def to_float(text: bytes) -> float:
    if not _is_number(text):
        raise ValueError("no number")
    return _finite(float(text))


def to_decimal(text: bytes) -> Decimal:
    if not _is_number(text):
        raise ValueError("no number")
    return Decimal(text.decode())


def to_datetime(text: bytes) -> datetime | str:
    """A DATETIME or TIMESTAMP."""
    words = text.decode()
    try:
        return datetime.fromisoformat(words) if _is_datetime(words) else words
    except ValueError:
        return words


def to_date(text: bytes) -> date | str:
    words = text.decode()
    try:
        return date.fromisoformat(words) if _is_date(words) else words
    except ValueError:
        return words


def to_timedelta(text: bytes) -> timedelta:
    """A TIME between -838 and 838 hours; a fraction of a second has at most six digits."""
    parts = _parts_of_time(text)
    if parts is None:
        raise ValueError("no time")
    sign, hours, minutes, seconds, fraction = parts.groups(b"0")
    microseconds = int(fraction.ljust(MICROSECOND_DIGITS, b"0"))
    return _time(sign == b"-", timedelta(0, int(seconds), microseconds, 0, int(minutes), int(hours)))


def _time(negative: bool, length: timedelta) -> timedelta:
    if length >= LONGEST_TIME:
        raise ValueError("no time of a server")
    return -length if negative else length


def _finite(number: float) -> float:
    if not isfinite(number):
        raise ValueError("no number of a server")
    return number


TEXT_CONVERTERS: dict[int, TextConverter] = {
    **dict.fromkeys(
        (
            FIELD_TYPE.TINY,
            FIELD_TYPE.SHORT,
            FIELD_TYPE.INT24,
            FIELD_TYPE.LONG,
            FIELD_TYPE.LONGLONG,
            FIELD_TYPE.YEAR,
        ),
        to_integer,
    ),
    **dict.fromkeys((FIELD_TYPE.FLOAT, FIELD_TYPE.DOUBLE), to_float),
    **dict.fromkeys((FIELD_TYPE.DECIMAL, FIELD_TYPE.NEWDECIMAL), to_decimal),
    **dict.fromkeys((FIELD_TYPE.TIMESTAMP, FIELD_TYPE.DATETIME), to_datetime),
    **dict.fromkeys((FIELD_TYPE.DATE, FIELD_TYPE.NEWDATE), to_date),
    FIELD_TYPE.TIME: to_timedelta,
}
"""The values of all other types are texts, or bytes."""


BinaryReader = Callable[[bytes, int], tuple[Any, int]]
"""Reads a value, which is not null, from a position; returns it and its end."""


def binary_reader(column: ResultColumn, encoding: str) -> BinaryReader:
    """The function that reads a column's values."""
    if column.kind in FIXED_SIZE_FORMATS:
        signed, unsigned = FIXED_SIZE_FORMATS[column.kind]
        form = unsigned if column.is_unsigned else signed
        unpack, size = struct.Struct(form).unpack_from, struct.calcsize(form)

        def read(data: bytes, place: int) -> tuple[Any, int]:
            return unpack(data, place)[0], place + size

        if column.kind not in (FIELD_TYPE.FLOAT, FIELD_TYPE.DOUBLE):
            return read

        def read_finite(data: bytes, place: int) -> tuple[float, int]:
            number, end = read(data, place)
            return _finite(number), end

        return read_finite
    if column.kind in TEMPORAL_READERS:
        return partial(TEMPORAL_READERS[column.kind], digits=column.decimals)
    return _length_encoded_reader(text_converter(column, encoding))


def _length_encoded_reader(convert: TextConverter) -> BinaryReader:
    def read(data: bytes, place: int) -> tuple[Any, int]:
        size = data[place]
        if size < NULL:
            place += 1
        else:
            size, place = read_length_encoded_int(data, place)
        end = place + size
        if end > len(data):
            raise IndexError("a value is longer than its row")
        return convert(data[place:end]), end

    return read


def _read_fields(data: bytes, place: int, forms: dict[int, struct.Struct]) -> tuple[tuple[int, ...], int]:
    """The numbers of a date or time, whose last ones may be missing, and their end."""
    size = data[place]
    return forms[size].unpack_from(data, place + 1), place + 1 + size


def _read_datetime(data: bytes, place: int, *, digits: int) -> tuple[datetime | str, int]:
    """A DATETIME or TIMESTAMP; as text if the date is invalid, with `digits` decimals of a second."""
    parts, end = _read_fields(data, place, DATETIME_FIELDS)
    year, month, day, hour, minute, second, microsecond = parts + (0,) * (7 - len(parts))
    try:
        return datetime(year, month, day, hour, minute, second, microsecond), end
    except (ValueError, OverflowError):
        words = f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
        return words + (f".{microsecond:06}"[: digits + 1] if 0 < digits <= MICROSECOND_DIGITS else ""), end


def _read_date(data: bytes, place: int, *, digits: int) -> tuple[date | str, int]:
    parts, end = _read_fields(data, place, DATETIME_FIELDS)
    year, month, day = parts[:3] or (0, 0, 0)
    try:
        return date(year, month, day), end
    except ValueError:
        return f"{year:04}-{month:02}-{day:02}", end


def _read_time(data: bytes, place: int, *, digits: int) -> tuple[timedelta, int]:
    """A TIME: sign, days, hours, minutes, seconds, microseconds."""
    parts, end = _read_fields(data, place, TIME_FIELDS)
    negative, days, hours, minutes, seconds, microseconds = parts + (0,) * (6 - len(parts))
    return _time(bool(negative), timedelta(days, seconds, microseconds, 0, minutes, hours)), end


DATETIME_FIELDS = {
    size: struct.Struct(form) for size, form in {0: "<", 4: "<HBB", 7: "<H5B", 11: "<H5BI"}.items()
}
TIME_FIELDS = {size: struct.Struct(form) for size, form in {0: "<", 8: "<BI3B", 12: "<BI3BI"}.items()}

TEMPORAL_READERS: dict[int, Callable[..., tuple[Any, int]]] = {
    FIELD_TYPE.TIMESTAMP: _read_datetime,
    FIELD_TYPE.DATETIME: _read_datetime,
    FIELD_TYPE.DATE: _read_date,
    FIELD_TYPE.NEWDATE: _read_date,
    FIELD_TYPE.TIME: _read_time,
}

FIXED_SIZE_FORMATS = {
    FIELD_TYPE.TINY: ("<b", "<B"),
    FIELD_TYPE.SHORT: ("<h", "<H"),
    FIELD_TYPE.YEAR: ("<H", "<H"),
    FIELD_TYPE.INT24: ("<i", "<I"),
    FIELD_TYPE.LONG: ("<i", "<I"),
    FIELD_TYPE.LONGLONG: ("<q", "<Q"),
    FIELD_TYPE.FLOAT: ("<f", "<f"),
    FIELD_TYPE.DOUBLE: ("<d", "<d"),
}
"""Formats of numbers, signed and unsigned."""


Row = tuple[Any, ...]

ReadRow = Callable[[bytes, int], tuple[Row, int]]
"""Reads a row whose packet begins at a position; returns it and its end."""

RowReaderFactory = Callable[[Sequence[ResultColumn], str], ReadRow]
"""Returns the function that reads rows of these columns, with the encoding of their texts."""

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

    `definitions` are those of the columns, if they are known before the first response. `most_values` is the
    maximum number of values of a result; None for no limit.
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
        self._gap = 0 if without_eof else HEADER_BYTES + 5
        self._longest_eof = MAX_PAYLOAD_BYTES - 1 if without_eof else MAX_EOF_BYTES
        self._head = b""
        self._read_row: ReadRow = form((), encoding)

    def read(self, answer: bytes) -> list[Row]:
        """The rows of a whole response; those of the first result if there are several, empty without a
        result.

        Raises ProtocolError for an invalid row, or too many rows, SQLError for a text with another encoding
        than agreed, and LimitError for too many values.
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
        """The definitions of the columns of the last response."""
        return self._definitions

    def _read_head(self, answer: bytes) -> bytes:
        """The bytes before the rows, apart from an EOF; learns the columns from them. b"" without a
        result.
        """
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
        """A row that takes several packets, and the end of the last one."""
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
    """Reads rows of the text protocol: length and text of each value."""
    converters = [text_converter(each, encoding) for each in columns]

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
    """Reads rows of the binary protocol: a zero, a bit for each null, and the values that are not null."""
    readers = [binary_reader(each, encoding) for each in columns]
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
