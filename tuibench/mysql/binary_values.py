"""Values of rows from the binary form of prepared statements to Python's: the same as from text.

FLOAT alone differs: servers write six digits of it. Numbers have one width for each type; dates and times
leave out what is zero; all else is text behind its length.
"""

import struct
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from asyncmy.constants import FIELD_TYPE

from tuibench.mysql.answer import number
from tuibench.mysql.columns import Column
from tuibench.mysql.glance import NULL
from tuibench.mysql.text_values import MICROSECOND_DIGITS, Convert, converter

Read = Callable[[bytes, int], tuple[Any, int]]
"""Reads a value, not null, from a place; returns it and where it ends."""


def reader(column: Column, encoding: str) -> Read:
    """What reads a column's values."""
    if column.kind in FIXED:
        signed, unsigned = FIXED[column.kind]
        return _fixed(unsigned if column.is_unsigned else signed)
    if column.kind in TEMPORAL:
        return partial(TEMPORAL[column.kind], digits=column.decimals)
    return _sized(converter(column, encoding))


def _fixed(form: str) -> Read:
    unpack, size = struct.Struct(form).unpack_from, struct.calcsize(form)

    def read(data: bytes, place: int) -> tuple[Any, int]:
        return unpack(data, place)[0], place + size

    return read


def _sized(convert: Convert) -> Read:
    def read(data: bytes, place: int) -> tuple[Any, int]:
        size = data[place]
        if size < NULL:
            place += 1
        else:
            size, place = number(data, place)
        end = place + size
        return convert(data[place:end]), end

    return read


def _parts(data: bytes, place: int, forms: dict[int, struct.Struct]) -> tuple[tuple[int, ...], int]:
    """The numbers of a date or time, of which those at the end may be missing, and where they end."""
    size = data[place]
    return forms[size].unpack_from(data, place + 1), place + 1 + size


def _moment(data: bytes, place: int, *, digits: int) -> tuple[datetime | str, int]:
    """A DATETIME or TIMESTAMP; as text if no calendar has it, with so many digits of a second's fraction."""
    parts, end = _parts(data, place, MOMENTS)
    year, month, day, hour, minute, second, microsecond = parts + (0,) * (7 - len(parts))
    try:
        return datetime(year, month, day, hour, minute, second, microsecond), end
    except ValueError:
        words = f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
        return words + (f".{microsecond:06}"[: digits + 1] if 0 < digits <= MICROSECOND_DIGITS else ""), end


def _day(data: bytes, place: int, *, digits: int) -> tuple[date | str, int]:
    parts, end = _parts(data, place, MOMENTS)
    year, month, day = parts[:3] or (0, 0, 0)
    try:
        return date(year, month, day), end
    except ValueError:
        return f"{year:04}-{month:02}-{day:02}", end


def _span(data: bytes, place: int, *, digits: int) -> tuple[timedelta, int]:
    """A TIME: whether it is negative, days, hours, minutes, seconds, microseconds."""
    parts, end = _parts(data, place, SPANS)
    negative, days, hours, minutes, seconds, microseconds = parts + (0,) * (6 - len(parts))
    span = timedelta(days, seconds, microseconds, minutes=minutes, hours=hours)
    return -span if negative else span, end


MOMENTS = {size: struct.Struct(form) for size, form in {0: "<", 4: "<HBB", 7: "<H5B", 11: "<H5BI"}.items()}
SPANS = {size: struct.Struct(form) for size, form in {0: "<", 8: "<BI3B", 12: "<BI3BI"}.items()}

TEMPORAL: dict[int, Callable[..., tuple[Any, int]]] = {
    FIELD_TYPE.TIMESTAMP: _moment,
    FIELD_TYPE.DATETIME: _moment,
    FIELD_TYPE.DATE: _day,
    FIELD_TYPE.NEWDATE: _day,
    FIELD_TYPE.TIME: _span,
}

FIXED = {
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
