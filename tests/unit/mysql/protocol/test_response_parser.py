"""Where an answer ends, however it is cut into pieces, and what it says."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tables import for_each
from tests.unit.mysql.protocol.server_packets import MORE_RESULTS, err, ok, packet, result, text_row
from tuibench.errors import ConnectionLostError, SQLError
from tuibench.mysql.protocol.fast_path import MAX_FRAMES, MAX_ROWS, try_parse
from tuibench.mysql.protocol.response_parser import ResponseParser, count_equal_sized_rows

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
