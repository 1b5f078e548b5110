"""Packets, rows and responses as bytes."""

import asyncio
import datetime
import struct
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from asyncmy import connection as asyncmy
from asyncmy.constants import FIELD_TYPE
from asyncmy.protocol import pack_binary_params
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.tables import for_each
from tests.unit.mysql.server_packets import (
    MORE_RESULTS,
    UTF8MB4,
    definition,
    err,
    ok,
    packet,
    result,
    text_row,
)
from tests.unit.mysql.value_encoding import KINDS, Kind, binary_form, sized, text_form
from tuibench.base.errors import ConnectionLostError, SQLError
from tuibench.mysql import packets
from tuibench.mysql.packets import (
    CachingParser,
    ExecuteCommand,
    ResponseCache,
    ResponseParser,
    count_equal_sized_rows,
    frame_payload,
    text_packet,
)
from tuibench.mysql.rows import ResultReader, Row, binary_row_reader, text_row_reader
from tuibench.mysql.statements import MAX_FRAMES, MAX_ROWS, try_parse

# Statements as packets.


values = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.text(max_size=300),
    st.none(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.binary(max_size=9),
    st.datetimes(),
)


def by_the_driver(identity: int, row: tuple[Any, ...]) -> bytes:
    head = b"\x17" + struct.pack("<IBI", identity, 0, 1)
    payload = head + (pack_binary_params(row, "utf8") if row else b"")
    return struct.pack("<I", len(payload)) + payload


@given(st.lists(values, max_size=12).map(tuple), st.integers(0, 2**32 - 1))
def test_an_execution_is_what_the_driver_would_send(row: tuple[Any, ...], identity: int) -> None:
    assert ExecuteCommand(identity, len(row), "utf8").packet(row) == by_the_driver(identity, row)


@pytest.mark.parametrize("number", [0, -1, 2**63 - 1, 2**63])
def test_whole_numbers_of_any_size(number: int) -> None:
    assert ExecuteCommand(7, 2, "utf8").packet((number, 1)) == by_the_driver(7, (number, 1))


def test_values_of_changing_kinds_go_through_one_statement() -> None:
    execution = ExecuteCommand(7, 2, "utf8")
    for row in ((1, 2), (1, "two"), (None, Decimal("1.50")), (1, datetime.date(2024, 2, 29)), (3, 4)):
        assert execution.packet(row) == by_the_driver(7, row)


def test_a_statement_in_text() -> None:
    assert text_packet("SELECT 'ü'", "utf8") == b"\x0c\x00\x00\x00\x03SELECT '\xc3\xbc'"


@pytest.mark.parametrize(
    ("size", "headers"),
    [
        (0, [0]),
        (0xFFFFFE, [0xFFFFFE]),
        (0xFFFFFF, [0xFFFFFF, 1 << 24]),
        (0xFFFFFF + 5, [0xFFFFFF, 1 << 24 | 5]),
    ],
)
def test_a_payload_takes_as_many_packets_as_it_needs(size: int, headers: list[int]) -> None:
    train, found, place = frame_payload(b"x" * size), [], 0
    while place < len(train):
        (header,) = struct.unpack_from("<I", train, place)
        found.append(header)
        place += 4 + (header & 0xFFFFFF)
    assert found == headers
    assert place == len(train) == size + 4 * len(headers)


# Rows out of answers: every type in either form, whatever the server leaves out, and nonsense.


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


def rows_by_the_driver(form: str, answer: bytes, *, without_eof: bool) -> list[Row]:
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
    assert read == rows_by_the_driver(form, whole, without_eof=without_eof)
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


# Where an answer ends, however it is cut into pieces, and what it says.


widths = st.one_of(st.just(119), st.integers(0, 300))
uniform = st.tuples(st.integers(0, 600), widths).map(lambda drawn: [text_row(drawn[1])] * drawn[0])
various = st.lists(widths, max_size=40).map(lambda drawn: [text_row(width) for width in drawn])
some_rows = st.one_of(uniform, various)


def read(*pieces: bytes, without_eof: bool = True) -> list[int | None]:
    """What is made of the pieces of one answer."""
    answer = ResponseParser(without_eof=without_eof)
    return [answer.feed(piece) for piece in pieces]


def in_bytes(whole: bytes) -> list[bytes]:
    return [whole[at : at + 1] for at in range(len(whole))]


ANSWERS = {
    "nothing affected": (ok(), 0),
    "rows affected": (ok(7), 7),
    "very many rows affected": (ok(300_000), 300_000),
    "a large id inserted": (ok(1, insert_id=2**40), 1),
    "no rows": (result([]), 0),
    "one row": (result([text_row(119)]), 1),
    "columns left out": (result([text_row(119)] * 3, cached=True), 3),
    "several columns": (result([text_row(3)] * 2, columns=9), 2),
    "more columns than a byte counts": (result([text_row(3)], columns=300), 1),
    "rows as short as the end": (result([text_row(4)] * 20), 20),
    "rows of all widths": (result([text_row(width) for width in range(40)]), 40),
    "a text row of one empty column": (result([b"\x00"] * 5), 5),
    "a null in text": (result([b"\xfb"] * 9), 9),
    "two results and the end of a call": (
        result([text_row(5)] * 3, status=MORE_RESULTS)
        + result([text_row(6)] * 8, status=MORE_RESULTS, sequence=7)
        + ok(sequence=18),
        3,
    ),
    "two statements that affect rows": (ok(2, MORE_RESULTS) + ok(5, sequence=2), 2),
}


MANY_BYTES, ODD_BYTES = 10_000, 7
"""A very long answer is cut at some places only: each byte of a packet in one or another of its equals."""


@for_each(("answer", "affected"), ANSWERS.values())
def test_an_answer_ends_with_its_last_byte_wherever_it_is_cut(answer: bytes, affected: int) -> None:
    assert read(answer) == [affected]
    assert read(*in_bytes(answer)) == [None] * (len(answer) - 1) + [affected]
    for cut in range(1, len(answer), 1 if len(answer) < MANY_BYTES else ODD_BYTES):
        assert read(answer[:cut], answer[cut:]) == [None, affected]


@given(some_rows, st.integers(1, 3))
def test_servers_that_send_eofs_are_understood_too(rows: list[bytes], columns: int) -> None:
    answer = result(rows, columns=columns, without_eof=False)
    assert read(answer, without_eof=False) == [len(rows)]
    assert read(answer[:-1], answer[-1:], without_eof=False) == [None, len(rows)]


@given(some_rows, st.booleans(), st.data())
@settings(deadline=None)
def test_the_fast_path_agrees_with_the_parser(rows: list[bytes], cached: bool, data: st.DataObject) -> None:
    answer = result(rows, cached=cached)
    assert try_parse(answer) in (len(rows), None)
    assert read(answer[:3], answer[3:]) == [None, len(rows)]
    cut = data.draw(st.integers(0, len(answer) - 1))
    assert try_parse(answer[:cut]) is None


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 60), st.booleans()), min_size=2, max_size=6),
    st.data(),
)
@settings(deadline=None)
def test_the_fast_path_agrees_with_the_parser_for_damaged_responses(
    shapes: list[tuple[int, int, bool]], data: st.DataObject
) -> None:
    for columns, width, cached in shapes:
        answer = bytearray(result([text_row(width)], columns=columns, cached=cached))
        if data.draw(st.booleans()):
            assert try_parse(bytes(answer)) == 1
        answer[data.draw(st.integers(0, len(answer) - 1))] = data.draw(st.integers(0, 255))
        if (told := try_parse(bytes(answer))) is not None:
            assert read(bytes(answer)) == [told]


def test_more_kinds_of_responses_than_the_cache_holds_are_parsed() -> None:
    for number in range(2 * MAX_FRAMES):
        columns = [b"\x03def" + str(number).encode()] * 2
        assert try_parse(result([text_row(9)], columns=columns)) == 1


@pytest.mark.parametrize("rows", [0, 1, 2, 100, 300, MAX_ROWS])
@pytest.mark.parametrize("cached", [False, True])
def test_rows_of_one_width_take_the_fast_path(rows: int, cached: bool) -> None:
    assert try_parse(result([text_row(119)] * rows, cached=cached)) == rows


@pytest.mark.parametrize("affected", [0, 1, 250])
def test_few_affected_rows_take_the_fast_path(affected: int) -> None:
    assert try_parse(ok(affected)) == affected


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(err(1213, "deadlock"), id="an error"),
        pytest.param(ok(1, MORE_RESULTS), id="more results to come"),
        pytest.param(ok(1) + ok(1), id="two answers"),
        pytest.param(ok(1, sequence=2), id="out of sequence"),
        pytest.param(ok(251), id="a number of several bytes"),
        pytest.param(result([text_row(9)], status=MORE_RESULTS), id="rows, more results to come"),
        pytest.param(result([text_row(9), text_row(10), text_row(8)]), id="rows of different widths"),
        pytest.param(result([text_row(9)] * (MAX_ROWS + 1)), id="too many rows"),
        pytest.param(result([text_row(9)], without_eof=False), id="an EOF behind the columns"),
        pytest.param(result([text_row(9)], sequence=2), id="rows out of sequence"),
    ],
)
def test_what_is_unusual_takes_reading(answer: bytes) -> None:
    assert try_parse(answer) is None


def test_a_row_that_looks_like_the_end_of_its_result_is_none() -> None:
    rows = [b"\x00\x00\x0b" + b"\x07\x00\x00\x03\xfe\x00\x00\x02\x00\x00\x00"] * 2
    answer = result(rows, cached=True)
    cut = answer.index(rows[0]) + len(rows[0])
    assert read(answer[:cut], answer[cut:]) == [None, 2]


def test_a_large_result_comes_in_many_pieces() -> None:
    answer = result([text_row(119)] * 10_000)
    pieces = [answer[at : at + 65_536] for at in range(0, len(answer), 65_536)]
    assert read(*pieces) == [None] * (len(pieces) - 1) + [10_000]


@given(st.integers(2, 300), st.integers(0, 255), st.integers(0, 50))
def test_rows_are_counted_together_only_if_they_are_alike(rows: int, sequence: int, width: int) -> None:
    row = text_row(width)
    train = b"".join(packet(sequence + at, row) for at in range(rows))
    counted = count_equal_sized_rows(train, 0, len(row), sequence)
    assert counted == (rows - 1 if rows > 4 else 0)
    assert count_equal_sized_rows(train, 0, len(row), sequence + 1) in (None, 0)


def test_a_row_larger_than_a_packet_is_one_row() -> None:
    answer = result([text_row(5), b"\x00" * 0xFFFFFF, b"\x00" * (0xFFFFFF + 9), text_row(5)])
    assert read(answer) == [4]


def test_a_refused_statement_is_an_error_with_the_servers_code_and_words() -> None:
    for pieces in ([err(1213, "Deadlock found")], in_bytes(err(1213, "Deadlock found"))):
        with pytest.raises(SQLError, match="Deadlock found") as raised:
            read(*pieces)
        assert raised.value.code == 1213
        assert not isinstance(raised.value, ConnectionLostError)


def test_a_result_may_break_off_with_an_error() -> None:
    whole = result([text_row(9)] * 3)
    broken = whole[:-11] + err(1317, "Query execution was interrupted", sequence=6, state="")
    with pytest.raises(SQLError) as raised:
        read(broken)
    assert (raised.value.code, raised.value.message) == (1317, "Query execution was interrupted")


def test_the_last_words_of_a_server_have_no_place_in_the_order() -> None:
    with pytest.raises(ConnectionLostError) as raised:
        read(err(1927, "Connection was killed", sequence=0))
    assert raised.value.code == 1927


def test_last_words_behind_an_answer_are_what_the_next_statement_hears() -> None:
    answer = ResponseParser(without_eof=True)
    assert answer.feed(ok(1) + err(1053, "shutdown", sequence=0)[:6]) == 1
    with pytest.raises(ConnectionLostError):
        answer.feed(err(1053, "shutdown", sequence=0)[6:])


@pytest.mark.parametrize(
    "nonsense",
    [
        ok(sequence=2),
        packet(1, b""),
        packet(1, b"\xfbfile"),
        result([text_row(5)])[:-11] + packet(9, b"\x00"),
    ],
)
def test_what_is_no_answer_ends_the_connection(nonsense: bytes) -> None:
    with pytest.raises(ConnectionLostError) as raised:
        read(nonsense)
    assert raised.value.code == 2014


def test_one_answer_after_the_other() -> None:
    answer = ResponseParser(without_eof=True)
    for whole, affected in (*ANSWERS.values(), *ANSWERS.values()):
        assert answer.feed(whole[:9]) is (affected if len(whole) <= 9 else None)
        assert answer.feed(whole[9:]) == affected


# Answers that were read before: told without reading, and never wrongly.


SHORT = result([text_row(width) for width in (3, 5)])
LONG = result([text_row(width) for width in range(3, 40)])
LONGER = result([text_row(width) for width in range(3, 41)])


class Counting(ResponseParser):
    """An answer that counts the bytes it is given to read."""

    def __init__(self) -> None:
        super().__init__(without_eof=True)
        self.bytes_read = 0

    def feed(self, data: bytes) -> int | None:
        self.bytes_read += len(data)
        return super().feed(data)


def halves(answer: bytes) -> list[bytes]:
    return [answer[: len(answer) // 2], answer[len(answer) // 2 :]]


@pytest.mark.parametrize("pieces", [[LONG], halves(LONG)])
def test_the_same_answer_is_read_once(pieces: list[bytes]) -> None:
    memory, reader = ResponseCache(), Counting()
    recalled = CachingParser(reader, memory)
    for _ in range(3):
        assert [recalled.feed(piece) for piece in pieces][-1] == 37
        assert recalled.is_new
    another = CachingParser(other := Counting(), memory)
    assert [another.feed(piece) for piece in pieces][-1] == 37
    assert (reader.bytes_read, other.bytes_read) == (len(LONG), 0)


answers = st.sampled_from([SHORT, LONG, LONGER, ok(2), ok(300_000), err(1213, "deadlock"), LONG + ok()])


@given(st.lists(st.tuples(st.integers(0, 1), answers, st.integers(1, 2000)), max_size=12))
def test_two_connections_hear_what_was_said_to_them(said: list[tuple[int, bytes, int]]) -> None:
    """Whatever comes, cut wherever, by turns: as if each had read for itself."""
    memory = ResponseCache()
    readers = [CachingParser(ResponseParser(without_eof=True), memory) for _ in range(2)]
    plain = [ResponseParser(without_eof=True) for _ in range(2)]
    waiting: list[list[bytes]] = [[], []]
    for connection, answer, size in said:
        waiting[connection] += [answer[at : at + size] for at in range(0, len(answer), size)]
    while any(waiting):
        for connection, pieces in enumerate(waiting):
            if pieces:
                piece = pieces.pop(0)
                assert heard(readers[connection], piece) == heard(plain[connection], piece)
                assert readers[connection].is_new == plain[connection].is_new


def heard(reader: CachingParser | ResponseParser, piece: bytes) -> int | str | None:
    try:
        return reader.feed(piece)
    except SQLError as error:
        return str(error)


def test_what_is_too_long_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packets, "MAX_CACHED_BYTES", len(LONG) // 4)
    memory, reader = ResponseCache(), Counting()
    recalled = CachingParser(reader, memory)
    for _ in range(2):
        assert [recalled.feed(piece) for piece in halves(LONG)] == [None, 37]
    assert reader.bytes_read == 2 * len(LONG)
    assert memory.answer == b""
