"""The native engine reads answers as the Python engine does: however they are cut, and damaged ones too."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import for_each
from tuibench.errors import SQLError
from tuibench.load.engine.native import program as native_program
from tuibench.mysql.protocol.response_parser import ResponseParser
from tuibench.mysql.protocol.rows import ResultReader, binary_row_reader, text_row_reader

native = native_program.module()
pytestmark = pytest.mark.skipif(native is None, reason="tuibench-native is not installed")

OK = b"\x00\x03\x00\x02\x00\x00\x00"
MORE = b"\x00\x01\x00\x0a\x00\x00\x00"
END = b"\xfe\x00\x00\x02\x00\x00\x00"
EOF = b"\xfe\x00\x00\x02\x00"
LONG, DOUBLE, TEXT, EXACT, DAY, MOMENT, SPAN = 3, 5, 253, 246, 10, 12, 11
UTF8, BINARY = 45, 63


def definition(kind: int, charset: int = BINARY, decimals: int = 0) -> bytes:
    """A column's definition: six names, then its numbers."""
    numbers = charset.to_bytes(2, "little") + bytes(4) + bytes((kind, 0, 0, decimals, 0, 0))
    return b"\x03def" + b"\x01x" * 5 + b"\x0c" + numbers


def train(*payloads: bytes, first: int = 1) -> bytes:
    return b"".join(
        len(payload).to_bytes(3, "little") + bytes((number & 0xFF,)) + payload
        for number, payload in enumerate(payloads, first)
    )


ANSWERS = [
    train(OK),
    train(MORE, OK),
    train(b"\x01", definition(LONG), b"\x011", b"\x0222", END),
    train(b"\x01\x00", b"\x011", END),
    train(b"\x02\x01", definition(LONG), definition(TEXT, UTF8), b"\x011\x01a", END),
    train(b"\x01", definition(LONG), END),
    train(b"\xff\xbd\x04#40001Deadlock found"),
    train(b"\x01", definition(LONG), b"\x011", b"\xff\x25\x05#70100Query execution was interrupted"),
]


def python_verdict(data: bytes, *, without_eof: bool, cut: int) -> object:
    answer = ResponseParser(without_eof=without_eof)
    try:
        for start in range(0, len(data), cut):
            affected = answer.feed(data[start : start + cut])
            if affected is not None:
                return affected
    except SQLError as error:
        return error.code
    return None


def native_verdict(data: bytes, *, without_eof: bool, cut: int) -> object:
    reader = native.Reader(without_eof, False, [])
    for start in range(0, len(data), cut):
        verdict = reader.feed(data[start : start + cut])
        if verdict is not None:
            return verdict[0] if isinstance(verdict, tuple) else verdict
    return None


@for_each("answer", ANSWERS)
@for_each("cut", [1, 2, 3, 7, 1000])
def test_answers_mean_the_same(answer: bytes, cut: int) -> None:
    told = native_verdict(answer, without_eof=True, cut=cut)
    assert told is not None
    assert told == python_verdict(answer, without_eof=True, cut=cut)


def test_answers_with_eofs_mean_the_same() -> None:
    answer = train(b"\x01", definition(LONG), EOF, b"\x011", b"\x012", EOF)
    assert native_verdict(answer, without_eof=False, cut=5) == 2
    assert python_verdict(answer, without_eof=False, cut=5) == 2


@given(
    st.sampled_from(ANSWERS),
    st.lists(st.tuples(st.integers(0, 80), st.integers(0, 255)), max_size=3),
    st.integers(1, 40),
)
def test_damaged_answers_mean_the_same(answer: bytes, changes: list[tuple[int, int]], cut: int) -> None:
    damaged = bytearray(answer)
    for place, byte in changes:
        damaged[place % len(damaged)] = byte
    data = bytes(damaged)
    ours = python_verdict(data, without_eof=True, cut=cut)
    assert native_verdict(data, without_eof=True, cut=cut) == ours


def shown(value: Any) -> tuple[str, str]:
    """A value as the native reader shows it."""
    match value:
        case None:
            return "NoneType", ""
        case Decimal():
            return "decimal.Decimal", format(value, "f")
        case float():
            return "float", repr(value)
        case bytes():
            return "bytes", value.hex()
        case datetime():
            return "datetime.datetime", value.isoformat(" ")
        case date():
            return "datetime.date", value.isoformat()
        case timedelta():
            return "datetime.timedelta", str(value // timedelta(microseconds=1))
        case _:
            return type(value).__name__, str(value)


def same_rows(definitions: Sequence[bytes], rows: Sequence[bytes], *, is_binary: bool) -> None:
    answer = train(bytes((len(definitions),)), *definitions, *rows, END)
    reader = native.Reader(True, is_binary, [])
    form = binary_row_reader if is_binary else text_row_reader
    ours: object
    try:
        read = ResultReader(form, "utf-8", without_eof=True).read(answer)
        ours = [[shown(value) for value in row] for row in read]
    except SQLError:
        ours = "unreadable"
    try:
        assert reader.rows(answer) == ours
    except ValueError:
        assert ours == "unreadable"


TEXTS = [
    (definition(LONG), [b"0", b"-7", b"2147483647"]),
    (definition(DOUBLE), [b"1.5", b"1e22", b"0.1", b"-0.00001"]),
    (definition(EXACT, decimals=2), [b"12.50", b"-0.00", b"0.0000000000000000000000000000001"]),
    (definition(TEXT, UTF8), [b"", "Käse".encode(), b"\xff"]),
    (definition(TEXT), [b"\x00\xff"]),
    (definition(DAY), [b"2024-02-29", b"2024-02-31", b"0000-00-00"]),
    (definition(SPAN), [b"-838:59:59", b"01:02:03.5"]),
]


@pytest.mark.parametrize(("column", "values"), TEXTS)
def test_values_in_text_are_the_same(column: bytes, values: list[bytes]) -> None:
    for value in values:
        same_rows([column], [bytes((len(value),)) + value], is_binary=False)
    same_rows([column, column], [b"\xfb\xfb"], is_binary=False)


BINARIES = [
    (definition(LONG), [b"\xff\xff\xff\xff", b"\x01\x00\x00\x00"]),
    (definition(DOUBLE), [b"\x00\x00\x00\x00\x00\x00\xf8\x3f"]),
    (definition(EXACT), [b"\x0512.50"]),
    (definition(TEXT, UTF8), [b"\x03abc", b"\xfc\x03\x00abc"]),
    (definition(DAY), [b"\x04\xe8\x07\x02\x1d", b"\x00"]),
    (definition(SPAN), [b"\x08\x01\x01\x00\x00\x00\x02\x03\x04", b"\x00"]),
    (definition(MOMENT, decimals=3), [b"\x04\xe8\x07\x02\x1f", b"\x00"]),
]


@pytest.mark.parametrize(("column", "values"), BINARIES)
def test_binary_values_are_the_same(column: bytes, values: list[bytes]) -> None:
    for value in values:
        same_rows([column], [b"\x00\x00" + value], is_binary=True)
    same_rows([column], [b"\x00\x04"], is_binary=True)


@given(st.binary(max_size=40), st.booleans())
def test_what_is_no_row_is_refused_by_both(row: bytes, is_binary: bool) -> None:
    columns = [definition(LONG), definition(TEXT), definition(SPAN)]
    if row and row[0] not in (0xFE, 0xFF):
        same_rows(columns, [row], is_binary=is_binary)
