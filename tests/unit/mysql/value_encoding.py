"""Values as servers send them in rows, in text and in binary form, by the type of their column."""

import struct
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from asyncmy.constants import FIELD_TYPE
from hypothesis import strategies as st

from tests.unit.mysql.server_packets import definition, number
from tuibench.mysql.rows import BINARY_CHARSET, UNSIGNED_FLAG

Encode = Callable[[Any], bytes]


class Kind(NamedTuple):
    """A type of column: its definition, values of it, and how each form has them."""

    definition: bytes
    values: st.SearchStrategy[Any]
    text: Encode
    binary: Encode


def sized(text: bytes) -> bytes:
    return number(len(text)) + text


def moment(value: datetime) -> bytes:
    """The parts of a date and time; those at the end that are zero may be missing."""
    whole = struct.pack(
        "<H5BI", value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond
    )
    size = 11 if value.microsecond else 7 if value.time() != datetime.min.time() else 4
    return bytes((size,)) + whole[:size]


def day(value: date) -> bytes:
    return struct.pack("<BHBB", 4, value.year, value.month, value.day)


def span(value: timedelta) -> bytes:
    length = abs(value)
    if not length:
        return b"\0"
    hours, rest = divmod(length.seconds, 3600)
    size = 12 if length.microseconds else 8
    whole = struct.pack(
        "<?I3BI", value < timedelta(0), length.days, hours, *divmod(rest, 60), length.microseconds
    )
    return bytes((size,)) + whole[:size]


def span_text(value: timedelta) -> bytes:
    length = abs(value)
    minutes, seconds = divmod(length.days * 86_400 + length.seconds, 60)
    fraction = f".{length.microseconds:06}" if length.microseconds else ""
    sign = "-" if value < timedelta(0) else ""
    return f"{sign}{minutes // 60:02}:{minutes % 60:02}:{seconds:02}{fraction}".encode()


def moment_text(value: datetime) -> bytes:
    return value.isoformat(" ").encode()


def as_text(value: Any) -> bytes:
    return str(value).encode()


def packed(form: str) -> Encode:
    return lambda value: struct.pack(form, value)


def whole(kind: int, form: str, low: int, high: int) -> Kind:
    return Kind(
        definition(kind, flags=0 if low else UNSIGNED_FLAG), st.integers(low, high), as_text, packed(form)
    )


def sized_kind(made: bytes, values: st.SearchStrategy[Any], text: Encode) -> Kind:
    return Kind(made, values, text, lambda value: sized(text(value)))


LONGEST_SPAN = timedelta(hours=838, minutes=59, seconds=59)

moments = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999))
decimals = st.decimals(-(10**35), 10**35, allow_nan=False, places=2)

KINDS = {
    "tiny": whole(FIELD_TYPE.TINY, "<b", -128, 127),
    "unsigned tiny": whole(FIELD_TYPE.TINY, "<B", 0, 255),
    "short": whole(FIELD_TYPE.SHORT, "<h", -(2**15), 2**15 - 1),
    "unsigned short": whole(FIELD_TYPE.SHORT, "<H", 0, 2**16 - 1),
    "year": whole(FIELD_TYPE.YEAR, "<H", 0, 2155),
    "medium": whole(FIELD_TYPE.INT24, "<i", -(2**23), 2**23 - 1),
    "unsigned medium": whole(FIELD_TYPE.INT24, "<I", 0, 2**24 - 1),
    "long": whole(FIELD_TYPE.LONG, "<i", -(2**31), 2**31 - 1),
    "unsigned long": whole(FIELD_TYPE.LONG, "<I", 0, 2**32 - 1),
    "big": whole(FIELD_TYPE.LONGLONG, "<q", -(2**63), 2**63 - 1),
    "unsigned big": whole(FIELD_TYPE.LONGLONG, "<Q", 0, 2**64 - 1),
    "float": Kind(
        definition(FIELD_TYPE.FLOAT),
        st.floats(allow_nan=False, allow_infinity=False, width=32),
        as_text,
        packed("<f"),
    ),
    "double": Kind(
        definition(FIELD_TYPE.DOUBLE), st.floats(allow_nan=False, allow_infinity=False), as_text, packed("<d")
    ),
    "decimal": sized_kind(definition(FIELD_TYPE.NEWDECIMAL), decimals, lambda value: f"{value:f}".encode()),
    "datetime": Kind(definition(FIELD_TYPE.DATETIME), moments, moment_text, moment),
    "timestamp": Kind(definition(FIELD_TYPE.TIMESTAMP), moments, moment_text, moment),
    "date": Kind(definition(FIELD_TYPE.DATE), st.dates(), as_text, day),
    "time": Kind(definition(FIELD_TYPE.TIME), st.timedeltas(-LONGEST_SPAN, LONGEST_SPAN), span_text, span),
    "char": sized_kind(definition(FIELD_TYPE.STRING), st.text(max_size=300), as_text),
    "varchar": sized_kind(definition(FIELD_TYPE.VAR_STRING), st.text(), as_text),
    "text": sized_kind(definition(FIELD_TYPE.BLOB), st.text(), as_text),
    "json": sized_kind(definition(FIELD_TYPE.JSON, BINARY_CHARSET), st.text(), as_text),
    "varbinary": sized_kind(
        definition(FIELD_TYPE.VAR_STRING, BINARY_CHARSET), st.binary(max_size=300), bytes
    ),
    "blob": sized_kind(definition(FIELD_TYPE.BLOB, BINARY_CHARSET), st.binary(), bytes),
    "bit": sized_kind(definition(FIELD_TYPE.BIT, BINARY_CHARSET), st.binary(min_size=1, max_size=8), bytes),
}


def text_form(kinds: Sequence[Kind], values: Sequence[Any]) -> bytes:
    """A row of a statement in text."""
    return b"".join(
        b"\xfb" if value is None else sized(kind.text(value))
        for kind, value in zip(kinds, values, strict=True)
    )


def binary_form(kinds: Sequence[Kind], values: Sequence[Any]) -> bytes:
    """A row of a prepared statement."""
    nulls = sum(1 << place + 2 for place, value in enumerate(values) if value is None)
    present = [kind.binary(value) for kind, value in zip(kinds, values, strict=True) if value is not None]
    return b"\0" + nulls.to_bytes((len(kinds) + 9) // 8, "little") + b"".join(present)
