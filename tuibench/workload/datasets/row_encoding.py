"""Encoding of rows in each row format, with a template for all rows.

A column is a constant or a list of values. One format operation for all rows takes a tenth of a microsecond
per value; row by row it takes three times as long.
"""

import struct
from collections.abc import Mapping, Sequence

from tuibench.workload.datasets.base import RowFormat

ColumnScalar = int | bytes | None
"""A number, an ASCII text (also a date or an exact number), or null."""

ColumnValues = ColumnScalar | list[int] | list[bytes]

SHORT_TEXT_BYTES = 251
"""The length of shorter texts is one byte."""

MAX_TEXT_BYTES = 500
"""The maximum length of a text."""

_DELIMITERS = {
    RowFormat.SQL: (b"(", b",", b"),"),
    RowFormat.TABBED: (b"", b"\t", b"\n"),
    RowFormat.BULK: (b"", b"", b""),
}
_NULLS = {RowFormat.SQL: b"NULL", RowFormat.TABBED: b"\\N", RowFormat.BULK: b"\1"}
_TEXTS = {RowFormat.SQL: b"'%b'", RowFormat.TABBED: b"%b", RowFormat.BULK: b"\0%b"}
_INT = struct.Struct("<i")


def bulk_parameter_types(columns: Mapping[str, str]) -> str:
    """The type codes of bulk statements."""
    return "".join("i" if kind == "INT" else "s" for kind in columns.values())


def encode_rows(row_format: RowFormat, count: int, columns: Sequence[ColumnValues]) -> bytes:
    """`count` encoded rows, each with its terminator; in an INSERT also the last one with a comma."""
    before, between, after = _DELIMITERS[row_format]
    cells = [_cell_template(row_format, column) for column in columns]
    row = before + between.join(cells) + after
    lists = [_encoded_column(row_format, column) for column in columns if isinstance(column, list)]
    values: list[object] = [None] * (count * len(lists))
    for place, column in enumerate(lists):
        values[place :: len(lists)] = column
    return row * count % tuple(values)


def _cell_template(row_format: RowFormat, column: ColumnValues) -> bytes:
    """A column's placeholder in the template, or its value if it is constant."""
    if column is None:
        return _NULLS[row_format]
    if isinstance(column, list):
        is_text = row_format is RowFormat.BULK or isinstance(column[0], bytes)
        return _TEXTS[row_format] if is_text else b"%d"
    if isinstance(column, int):
        value = _INT.pack(column) if row_format is RowFormat.BULK else b"%d" % column
        return (b"\0" + value if row_format is RowFormat.BULK else value).replace(b"%", b"%%")
    return (
        _TEXTS[row_format]
        % (_LENGTH_PREFIXES[len(column)] + column if row_format is RowFormat.BULK else column)
    ).replace(b"%", b"%%")


def _encoded_column(row_format: RowFormat, column: list[int] | list[bytes]) -> Sequence[object]:
    if row_format is not RowFormat.BULK:
        return column
    if isinstance(column[0], bytes):
        return [_LENGTH_PREFIXES[len(text)] + text for text in column if isinstance(text, bytes)]
    packed = struct.pack(f"<{len(column)}i", *column)
    return [packed[place : place + _INT.size] for place in range(0, len(packed), _INT.size)]


def _length_prefix(size: int) -> bytes:
    """The length prefix of a text in a bulk statement."""
    return bytes((size,)) if size < SHORT_TEXT_BYTES else b"\xfc" + size.to_bytes(2, "little")


_LENGTH_PREFIXES = [_length_prefix(size) for size in range(MAX_TEXT_BYTES + 1)]
