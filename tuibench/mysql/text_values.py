"""Values of rows from the text that servers write, in either protocol, to Python's.

Dates that no calendar has (0000-00-00, 2024-02-31) stay texts, so that they can be bound again.
"""

import codecs
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from operator import methodcaller
from typing import Any

from asyncmy.constants import FIELD_TYPE

from tuibench.mysql.columns import BINARY, Column

MICROSECOND_DIGITS = 6

Convert = Callable[[bytes], Any]


def converter(column: Column, encoding: str) -> Convert:
    """What makes a column's values of their text. Those without a character set are bytes."""
    if column.kind in CONVERTERS:
        return CONVERTERS[column.kind]
    if column.charset == BINARY and column.kind != FIELD_TYPE.JSON:
        return bytes
    # Without an argument, UTF-8, decoding takes a quarter of the time.
    return bytes.decode if codecs.lookup(encoding).name == "utf-8" else methodcaller("decode", encoding)


def exact(text: bytes) -> Decimal:
    return Decimal(text.decode())


def moment(text: bytes) -> datetime | str:
    """A DATETIME or TIMESTAMP."""
    words = text.decode()
    try:
        return datetime.fromisoformat(words)
    except ValueError:
        return words


def day(text: bytes) -> date | str:
    words = text.decode()
    try:
        return date.fromisoformat(words)
    except ValueError:
        return words


def span(text: bytes) -> timedelta:
    """A TIME, of up to 838 hours either way; a fraction of a second has at most six digits."""
    hours, minutes, seconds = text.removeprefix(b"-").split(b":")
    whole, _, fraction = seconds.partition(b".")
    length = timedelta(
        hours=int(hours),
        minutes=int(minutes),
        seconds=int(whole),
        microseconds=int(fraction.ljust(MICROSECOND_DIGITS, b"0")),
    )
    return -length if text.startswith(b"-") else length


CONVERTERS: dict[int, Convert] = {
    **dict.fromkeys(
        (
            FIELD_TYPE.TINY,
            FIELD_TYPE.SHORT,
            FIELD_TYPE.INT24,
            FIELD_TYPE.LONG,
            FIELD_TYPE.LONGLONG,
            FIELD_TYPE.YEAR,
        ),
        int,
    ),
    **dict.fromkeys((FIELD_TYPE.FLOAT, FIELD_TYPE.DOUBLE), float),
    **dict.fromkeys((FIELD_TYPE.DECIMAL, FIELD_TYPE.NEWDECIMAL), exact),
    **dict.fromkeys((FIELD_TYPE.TIMESTAMP, FIELD_TYPE.DATETIME), moment),
    **dict.fromkeys((FIELD_TYPE.DATE, FIELD_TYPE.NEWDATE), day),
    FIELD_TYPE.TIME: span,
}
"""Of all other types the values are texts, or bytes."""
