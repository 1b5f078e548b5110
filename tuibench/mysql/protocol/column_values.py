"""Column definitions of a result, in the text and the binary protocol.

Values of rows from the text that servers write, in either protocol, to Python's.

Dates that no calendar has (0000-00-00, 2024-02-31) stay texts, so that they can be bound again.

Values of rows from the binary form of prepared statements to Python's: the same as from text.

FLOAT alone differs: servers write six digits of it. Numbers have one width for each type; dates and times
leave out what is zero; all else is text behind its length.
"""

import codecs
import re
import struct
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from math import isfinite
from operator import methodcaller
from typing import Any, NamedTuple

from tuibench.mysql.driver import FIELD_TYPE
from tuibench.mysql.protocol.fast_path import NULL
from tuibench.mysql.protocol.response_parser import read_length_encoded_int

NAME_FIELDS = 6
"""Texts before the numbers: catalogue, database, table and column, the latter two also as they were made."""

UNSIGNED_FLAG = 0x20
BINARY_CHARSET = 63
"""The character set of what is no text."""

_unpack_fixed_fields = struct.Struct("<HIBHB").unpack_from


class ResultColumn(NamedTuple):
    """A column: its type, as the protocol numbers them, its character set, its digits behind the point."""

    kind: int
    charset: int
    is_unsigned: bool
    decimals: int


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
    """The function that converts a column's values from text. Columns without a character set give bytes."""
    if column.kind in TEXT_CONVERTERS:
        return TEXT_CONVERTERS[column.kind]
    if column.charset == BINARY_CHARSET and column.kind != FIELD_TYPE.JSON:
        return bytes
    # Without an argument, UTF-8, decoding takes a quarter of the time.
    return bytes.decode if codecs.lookup(encoding).name == "utf-8" else methodcaller("decode", encoding)


_is_integer = re.compile(rb"[+-]?[0-9]{1,38}").fullmatch
_is_number = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,12})?").fullmatch
_is_datetime = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?").fullmatch
_is_date = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}").fullmatch
_parts_of_time = re.compile(rb"(-?)([0-9]{2,3}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?").fullmatch
LONGEST_TIME = timedelta(hours=839)
"""All of a server's are shorter."""


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
    """A TIME, of up to 838 hours either way; a fraction of a second has at most six digits."""
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
"""Of all other types the values are texts, or bytes."""


BinaryReader = Callable[[bytes, int], tuple[Any, int]]
"""Reads a value, not null, from a place; returns it and where it ends."""


def binary_reader(column: ResultColumn, encoding: str) -> BinaryReader:
    """The function that reads a column's values."""
    if column.kind in FIXED_SIZE_FORMATS:
        signed, unsigned = FIXED_SIZE_FORMATS[column.kind]
        read = _fixed_size_reader(unsigned if column.is_unsigned else signed)
        return _finite_reader(read) if column.kind in (FIELD_TYPE.FLOAT, FIELD_TYPE.DOUBLE) else read
    if column.kind in TEMPORAL_READERS:
        return partial(TEMPORAL_READERS[column.kind], digits=column.decimals)
    return _length_encoded_reader(text_converter(column, encoding))


def _fixed_size_reader(form: str) -> BinaryReader:
    unpack, size = struct.Struct(form).unpack_from, struct.calcsize(form)

    def read(data: bytes, place: int) -> tuple[Any, int]:
        return unpack(data, place)[0], place + size

    return read


def _finite_reader(read_number: BinaryReader) -> BinaryReader:
    def read(data: bytes, place: int) -> tuple[float, int]:
        number, end = read_number(data, place)
        return _finite(number), end

    return read


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
    """The numbers of a date or time, of which those at the end may be missing, and where they end."""
    size = data[place]
    return forms[size].unpack_from(data, place + 1), place + 1 + size


def _read_datetime(data: bytes, place: int, *, digits: int) -> tuple[datetime | str, int]:
    """A DATETIME or TIMESTAMP; as text if it is no valid date, with `digits` decimals of a second."""
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
    """A TIME: whether it is negative, days, hours, minutes, seconds, microseconds."""
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
"""Numbers, signed and unsigned."""
