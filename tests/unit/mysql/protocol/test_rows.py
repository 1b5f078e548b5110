"""Rows out of answers: every type in either form, whatever the server leaves out, and nonsense."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from asyncmy import connection as asyncmy
from asyncmy.constants import FIELD_TYPE
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.unit.mysql.protocol.server_packets import MORE_RESULTS, UTF8MB4, definition, ok, result
from tests.unit.mysql.protocol.value_encoding import KINDS, Kind, binary_form, sized, text_form
from tuibench.errors import ConnectionLostError, SQLError
from tuibench.mysql.protocol.rows import ResultReader, Row, binary_row_reader, text_row_reader

FORMS = {"text": (text_row_reader, text_form), "binary": (binary_row_reader, binary_form)}
both_forms = pytest.mark.parametrize("form", FORMS)

INT, CHAR = KINDS["long"], KINDS["char"]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Kind], list[list[Any]]]:
    """Some columns, and rows of them."""
    kinds = draw(st.lists(st.sampled_from(list(KINDS.values())), min_size=1, max_size=12))
    row = st.tuples(*(st.none() | kind.values for kind in kinds)).map(list)
    return kinds, draw(st.lists(row, max_size=5))


def answer(form: str, kinds: Sequence[Kind], rows: Sequence[Sequence[Any]], **how: Any) -> bytes:
    encoded = [FORMS[form][1](kinds, row) for row in rows]
    return result(encoded, columns=[kind.definition for kind in kinds], **how)


def reader(form: str, *, without_eof: bool = True, definitions: Sequence[bytes] = ()) -> ResultReader:
    return ResultReader(FORMS[form][0], "utf8", without_eof=without_eof, definitions=definitions)


def by_the_driver(form: str, answer: bytes, *, without_eof: bool) -> list[Row]:
    """What the driver makes of the same bytes."""

    async def read() -> list[Row]:
        driver: Any = asyncmy
        protocol = driver._MySQLProtocol(asyncio.get_running_loop())
        protocol.get_buffer(len(answer))[: len(answer)] = answer
        protocol.buffer_updated(len(answer))
        connection: Any = driver.Connection()
        connection._proto, connection._next_seq_id = protocol, 1
        connection._deprecate_eof = without_eof
        made: Any = driver.MySQLResult(connection)
        await (made.read_binary() if form == "binary" else made.read())
        return list(made.rows)

    return asyncio.run(read())


@both_forms
@given(tables(), st.booleans())
@settings(deadline=None)
def test_values_are_what_the_driver_makes_of_them(
    form: str, table: tuple[list[Kind], list[list[Any]]], without_eof: bool
) -> None:
    kinds, rows = table
    whole = answer(form, kinds, rows, without_eof=without_eof)
    read = reader(form, without_eof=without_eof).read(whole)
    assert read == [tuple(row) for row in rows]
    assert read == by_the_driver(form, whole, without_eof=without_eof)
    assert [list(map(type, row)) for row in read] == [list(map(type, row)) for row in rows]


@both_forms
def test_columns_that_are_left_out_are_what_they_were(form: str) -> None:
    rows = reader(form)
    assert rows.read(answer(form, [INT, CHAR], [[1, "one"]])) == [(1, "one")]
    assert rows.read(answer(form, [INT, CHAR], [[2, None]], cached=True)) == [(2, None)]
    assert rows.read(answer(form, [CHAR, INT], [["x", 3]])) == [("x", 3)]
    assert rows.read(answer(form, [CHAR, INT], [["y", 4]] * 2, cached=True)) == [("y", 4)] * 2
    assert rows.read(answer(form, [INT, CHAR], [])) == []


@both_forms
def test_columns_may_be_known_from_the_preparing(form: str) -> None:
    rows = reader(form, definitions=[INT.definition, CHAR.definition])
    assert rows.read(answer(form, [INT, CHAR], [[1, "one"]], cached=True)) == [(1, "one")]


@both_forms
def test_columns_without_definitions_cannot_be_read(form: str) -> None:
    with pytest.raises(ConnectionLostError, match="do not match their column definitions"):
        reader(form).read(answer(form, [INT], [[1]], cached=True))


@both_forms
def test_what_is_no_result_has_no_rows(form: str) -> None:
    rows = reader(form)
    assert rows.read(ok(7)) == []
    assert rows.read(answer(form, [INT], [[1]])) == [(1,)]
    assert rows.read(ok(7)) == []


@both_forms
def test_the_first_result_of_several_counts(form: str) -> None:
    first = answer(form, [INT], [[1], [2]], status=MORE_RESULTS)
    second = answer(form, [CHAR], [["other"]], status=MORE_RESULTS, sequence=6)
    assert reader(form).read(first + second + ok(sequence=10)) == [(1,), (2,)]


@both_forms
@pytest.mark.parametrize("size", [0xFFFFFF, 2 * 0xFFFFFF + 9])
def test_a_row_may_take_several_packets(form: str, size: int) -> None:
    large = "x" * size
    whole = answer(form, [CHAR, INT], [[large, 1], ["small", None]])
    assert reader(form).read(whole) == [(large, 1), ("small", None)]


@pytest.mark.parametrize(("form", "overhead"), [("text", 4), ("binary", 6)])
def test_a_row_may_fill_its_packets_to_the_last_byte(form: str, overhead: int) -> None:
    text = "x" * (0xFFFFFF - overhead)
    whole = answer(form, [CHAR], [[text], ["next"]])
    assert b"\x00\x00\x00\x04" in whole
    assert reader(form).read(whole) == [(text,), ("next",)]


IMPOSSIBLE = {
    "0000-00-00 00:00:00": (FIELD_TYPE.DATETIME, 0, b""),
    "0000-00-00 00:00:00.000000": (FIELD_TYPE.DATETIME, 6, b""),
    "2024-02-31 23:59:58": (FIELD_TYPE.TIMESTAMP, 0, b"\xe8\x07\x02\x1f\x17\x3b\x3a"),
    "2024-00-00 00:00:00.012": (FIELD_TYPE.DATETIME, 3, b"\xe8\x07\0\0\0\0\0\xe0\x2e\0\0"),
    "0000-00-00": (FIELD_TYPE.DATE, 0, b""),
    "2024-02-31": (FIELD_TYPE.DATE, 0, b"\xe8\x07\x02\x1f"),
}


@pytest.mark.parametrize(("text", "column"), IMPOSSIBLE.items(), ids=IMPOSSIBLE)
def test_a_date_that_no_calendar_has_stays_a_text(text: str, column: tuple[int, int, bytes]) -> None:
    kind, decimals, parts = column
    columns = [definition(kind, decimals=decimals)]
    assert reader("text").read(result([sized(text.encode())], columns=columns)) == [(text,)]
    binary = result([b"\0\0" + sized(parts)], columns=columns)
    assert reader("binary").read(binary) == [(text,)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"838:59:59.000000", timedelta(hours=838, minutes=59, seconds=59)),
        (b"-00:00:00.1", timedelta(microseconds=-100_000)),
        (b"00:00:01.000001", timedelta(seconds=1, microseconds=1)),
    ],
)
def test_a_time_has_a_sign_and_a_fraction(text: bytes, value: timedelta) -> None:
    columns = [definition(FIELD_TYPE.TIME)]
    assert reader("text").read(result([sized(text)], columns=columns)) == [(value,)]


def test_types_of_no_conversion_are_texts_or_bytes_by_their_character_set() -> None:
    unknown = 242
    columns = [definition(unknown, 63), definition(FIELD_TYPE.ENUM, UTF8MB4)]
    whole = result([sized(b"\xff\x01") + sized("ä".encode())], columns=columns)
    assert reader("text").read(whole) == [(b"\xff\x01", "ä")]


def test_texts_may_be_encoded_otherwise() -> None:
    rows = ResultReader(text_row_reader, "latin1", without_eof=True)
    assert rows.read(result([sized(b"\xe4")])) == [("ä",)]


def test_digits_behind_the_point_are_kept() -> None:
    kind = KINDS["decimal"]
    ((value,),) = reader("binary").read(answer("binary", [kind], [[Decimal("1.10")]]))
    assert str(value) == "1.10"


def test_a_text_in_other_letters_than_agreed_is_an_error_of_its_statement() -> None:
    with pytest.raises(SQLError, match="not in utf8mb4: leave character_set_results") as raised:
        reader("text").read(result([sized(b"\xe4")]))
    assert raised.value.code == 1300


@both_forms
@given(
    st.binary(max_size=40), st.sampled_from([INT, CHAR, KINDS["time"], KINDS["datetime"], KINDS["decimal"]])
)
@example(b"\x00\x00\x01", INT)
@example(b"\x00\x00\x05\x01", KINDS["datetime"])
@settings(deadline=None)
def test_invalid_rows_raise_or_are_read_completely(form: str, row: bytes, kind: Kind) -> None:
    row = b"\0" + row
    whole = result([row, row], columns=[kind.definition, INT.definition])
    try:
        rows = reader(form).read(whole)
    except SQLError:
        return
    assert len(rows) == 2
    assert {len(row) for row in rows} == {2}
