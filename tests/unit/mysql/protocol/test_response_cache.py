"""Answers that were read before: told without reading, and never wrongly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.mysql.protocol.server_packets import err, ok, result, text_row
from tuibench.errors import SQLError
from tuibench.mysql.protocol import response_cache
from tuibench.mysql.protocol.response_cache import CachingParser, ResponseCache
from tuibench.mysql.protocol.response_parser import ResponseParser

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
    monkeypatch.setattr(response_cache, "MAX_CACHED_BYTES", len(LONG) // 4)
    memory, reader = ResponseCache(), Counting()
    recalled = CachingParser(reader, memory)
    for _ in range(2):
        assert [recalled.feed(piece) for piece in halves(LONG)] == [None, 37]
    assert reader.bytes_read == 2 * len(LONG)
    assert memory.answer == b""
