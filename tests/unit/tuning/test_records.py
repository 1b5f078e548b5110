"""Journal lines as bytes: whole ones come back, a torn last one is dropped, a damaged one is named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tuning.fakes import header
from tuibench.tuning import records
from tuibench.tuning.records import Applied, Change, Entry, JournalError, Settled, Settlement

TEXT = st.text(max_size=12)
ENTRIES = st.one_of(
    st.builds(
        Change, seq=st.integers(1, 99), at=st.just(1.5), setting=st.just("sync_binlog"), old=TEXT, new=TEXT
    ),
    st.builds(Applied, st.integers(1, 99)),
    st.builds(
        Settled,
        seqs=st.lists(st.integers(1, 99), max_size=3).map(tuple),
        how=st.sampled_from(Settlement),
        at=st.just(2.5),
        why=TEXT,
    ),
)
HEAD = records.encode(header())


@given(st.lists(ENTRIES, max_size=6), st.data())
def test_a_journal_cut_anywhere_gives_its_whole_lines(entries: list[Entry], data: st.DataObject) -> None:
    lines = [records.encode(entry) for entry in entries]
    rest = b"".join(lines)
    cut = data.draw(st.integers(0, len(rest)))
    found_header, found = records.decode(HEAD + rest[:cut], "j")
    assert found_header == header()
    assert found == entries[: rest[:cut].count(b"\n")]


def test_golden_lines() -> None:
    change = Change(seq=1, at=2.0, setting="sync_binlog", old="1", new="0")
    assert records.encode(change) == (
        b'{"type":"change","seq":1,"at":2.0,"setting":"sync_binlog","old":"1","new":"0"}\n'
    )
    assert records.encode(Applied(1)) == b'{"type":"applied","seq":1}\n'
    assert b"secret" not in HEAD
    assert HEAD.startswith(b'{"type":"journal","format":1,"session":"s1",')


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", 1),
        (HEAD[:-1], 1),
        (b"{}\n", 1),
        (HEAD + b"\0\0\0\n", 2),
        (HEAD + records.encode(Applied(1)) + b'{"type":"nonsense"}\n', 3),
        (HEAD + b'{"type":"change","seq":"one"}\n' + records.encode(Applied(1)), 2),
        (HEAD + b'"\xff"\n', 2),
    ],
)
def test_damage_is_named_with_file_and_line(data: bytes, line: int) -> None:
    with pytest.raises(JournalError, match=f"/j/s1.jsonl is damaged in line {line}: "):
        records.decode(data, "/j/s1.jsonl")


def test_a_newer_format_is_refused() -> None:
    with pytest.raises(JournalError, match="format 2"):
        records.decode(HEAD.replace(b'"format":1', b'"format":2'), "j")
