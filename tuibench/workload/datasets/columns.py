"""Rows of any columns in each form that they travel in: a template for a row, filled for many at once.

A column is the same value in all rows, or has a list of values. One format operation for all rows takes a
tenth of a microsecond a value; row by row it would take three times as long.
"""

import struct
from collections.abc import Mapping, Sequence

from tuibench.workload.datasets.base import Form

Scalar = int | bytes | None
"""A number, a text of plain characters (a date or an exact number, too), or null."""

Column = Scalar | list[int] | list[bytes]

SHORT = 251
"""Texts of fewer bytes have their length in one."""

LONGEST = 500
"""No column takes a longer text."""

_ENDS = {Form.SQL: (b"(", b",", b"),"), Form.TABBED: (b"", b"\t", b"\n"), Form.BULK: (b"", b"", b"")}
_NULLS = {Form.SQL: b"NULL", Form.TABBED: b"\\N", Form.BULK: b"\1"}
_TEXTS = {Form.SQL: b"'%b'", Form.TABBED: b"%b", Form.BULK: b"\0%b"}
_INT = struct.Struct("<i")


def parameters(columns: Mapping[str, str]) -> str:
    """What a bulk statement calls columns of these types."""
    return "".join("i" if kind == "INT" else "s" for kind in columns.values())


def block(form: Form, count: int, columns: Sequence[Column]) -> bytes:
    """`count` rows one after the other, each with its end; the last of an INSERT's with its comma, too."""
    before, between, after = _ENDS[form]
    cells = [_cell(form, column) for column in columns]
    row = before + between.join(cells) + after
    lists = [_encoded(form, column) for column in columns if isinstance(column, list)]
    values: list[object] = [None] * (count * len(lists))
    for place, column in enumerate(lists):
        values[place :: len(lists)] = column
    return row * count % tuple(values)


def _cell(form: Form, column: Column) -> bytes:
    """A column's place in the template, or its value if that is always the same."""
    if column is None:
        return _NULLS[form]
    if isinstance(column, list):
        is_text = form is Form.BULK or isinstance(column[0], bytes)
        return _TEXTS[form] if is_text else b"%d"
    if isinstance(column, int):
        value = _INT.pack(column) if form is Form.BULK else b"%d" % column
        return (b"\0" + value if form is Form.BULK else value).replace(b"%", b"%%")
    return (_TEXTS[form] % (_HEADS[len(column)] + column if form is Form.BULK else column)).replace(
        b"%", b"%%"
    )


def _encoded(form: Form, column: list[int] | list[bytes]) -> Sequence[object]:
    if form is not Form.BULK:
        return column
    if isinstance(column[0], bytes):
        return [_HEADS[len(text)] + text for text in column if isinstance(text, bytes)]
    packed = struct.pack(f"<{len(column)}i", *column)
    return [packed[place : place + _INT.size] for place in range(0, len(packed), _INT.size)]


def _head(size: int) -> bytes:
    """What stands before a text of this size in a bulk statement."""
    return bytes((size,)) if size < SHORT else b"\xfc" + size.to_bytes(2, "little")


_HEADS = [_head(size) for size in range(LONGEST + 1)]
