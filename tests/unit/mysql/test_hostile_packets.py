"""Whatever bytes a server sends: an answer, or an error of our own tree."""

import contextlib
import math
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.mysql.protocol.server_packets import definition, err, ok, packet, result, text_row
from tests.unit.mysql.protocol.value_encoding import KINDS
from tuibench.errors import TuibenchError
from tuibench.mysql.protocol.fast_path import try_parse
from tuibench.mysql.protocol.response_cache import CachingParser, ResponseCache
from tuibench.mysql.protocol.response_parser import ResponseParser, affected_rows, column_names, status_of
from tuibench.mysql.protocol.rows import ResultReader, RowReaderFactory, binary_row_reader, text_row_reader

DEFINITIONS = [kind.definition for kind in KINDS.values()]
WHOLE = [
    ok(3),
    ok(2**40, insert_id=2**63),
    err(1064, "You have an error"),
    result([text_row(5), text_row(5)]),
    result([b"\x03abc", b"\xfb"], columns=2, without_eof=False),
    result([b"\x01" * len(DEFINITIONS)], columns=DEFINITIONS),
    result([], columns=[definition()], cached=True),
    ok(1, status=8) + ok(2, sequence=2),
]
MANGLED = 6
"""Bytes that are changed in an answer."""


@st.composite
def mangled(draw: st.DrawFn) -> bytes:
    """An answer of which some bytes are others, or missing."""
    data = bytearray(draw(st.sampled_from(WHOLE)))
    for place in draw(st.lists(st.integers(0, len(data) - 1), max_size=MANGLED)):
        data[place] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data)


def hostile() -> st.SearchStrategy[bytes]:
    return st.one_of(mangled(), st.binary(max_size=80), st.binary(max_size=30).map(lambda b: packet(1, b)))


@given(pieces=st.lists(hostile(), max_size=3), without_eof=st.booleans())
@example(pieces=[packet(1, b"\xff")], without_eof=True)
@example(pieces=[packet(1, b"\x00")], without_eof=True)
def test_the_end_of_any_answer(pieces: Sequence[bytes], without_eof: bool) -> None:
    for reader in (
        ResponseParser(without_eof=without_eof),
        CachingParser(ResponseParser(without_eof=without_eof), ResponseCache()),
    ):
        with contextlib.suppress(TuibenchError):
            for piece in pieces:
                reader.feed(piece)


@given(hostile())
def test_a_glance_at_any_answer(data: bytes) -> None:
    rows = try_parse(data)
    assert rows is None or 0 <= rows < math.inf


@pytest.mark.parametrize("form", [text_row_reader, binary_row_reader])
@given(data=hostile(), without_eof=st.booleans())
@example(data=result([b"\xfe" + b"\xff" * 8]), without_eof=True)
@example(data=packet(1, b"\xfe" + b"\xff" * 8), without_eof=True)
def test_the_rows_of_any_answer(form: RowReaderFactory, data: bytes, without_eof: bool) -> None:
    """Only of those that have an end, as others never come to be read."""
    reader = ResultReader(form, "utf8", without_eof=without_eof)
    try:
        if ResponseParser(without_eof=without_eof).feed(data) is None:
            return
    except TuibenchError:
        return
    with contextlib.suppress(TuibenchError):
        reader.read(data)
        column_names(reader.definitions, "utf8")
    if status_of(data) is not None:
        assert affected_rows(data) >= 0
