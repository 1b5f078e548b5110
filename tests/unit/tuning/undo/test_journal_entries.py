"""Journal lines as bytes: whole ones come back, a torn last one is dropped, a damaged one is named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tuning.fakes import header
from tuibench.tuning.undo import journal_entries
from tuibench.tuning.undo.journal_entries import (
    ChangeConfirmed,
    ChangeSettled,
    JournalEntry,
    JournalError,
    SettingChange,
    Settlement,
)

TEXT = st.text(max_size=12)
ENTRIES = st.one_of(
    st.builds(
        SettingChange,
        seq=st.integers(1, 99),
        at=st.just(1.5),
        setting=st.just("sync_binlog"),
        old=TEXT,
        new=TEXT,
    ),
    st.builds(ChangeConfirmed, st.integers(1, 99)),
    st.builds(
        ChangeSettled,
        seqs=st.lists(st.integers(1, 99), max_size=3).map(tuple),
        how=st.sampled_from(Settlement),
        at=st.just(2.5),
        why=TEXT,
    ),
)
HEAD = journal_entries.encode_line(header())


@given(st.lists(ENTRIES, max_size=6), st.data())
def test_a_journal_cut_anywhere_gives_its_whole_lines(
    entries: list[JournalEntry], data: st.DataObject
) -> None:
    lines = [journal_entries.encode_line(entry) for entry in entries]
    rest = b"".join(lines)
    cut = data.draw(st.integers(0, len(rest)))
    found = journal_entries.decode_journal(HEAD + rest[:cut], "j")
    assert found.header == header()
    assert found.entries == entries[: rest[:cut].count(b"\n")]
    assert found.faults == ()


def test_golden_lines() -> None:
    change = SettingChange(seq=1, at=2.0, setting="sync_binlog", old="1", new="0")
    assert journal_entries.encode_line(change) == (
        b'{"type":"change","seq":1,"at":2.0,"setting":"sync_binlog","old":"1","new":"0"}\n'
    )
    assert journal_entries.encode_line(ChangeConfirmed(1)) == b'{"type":"applied","seq":1}\n'
    assert b"secret" not in HEAD
    assert HEAD.startswith(b'{"type":"journal","format":1,"session":"s1",')


CHANGE = journal_entries.encode_line(SettingChange(seq=1, at=2.0, setting="sync_binlog", old="1", new="0"))
REDO = journal_entries.encode_line(
    SettingChange(seq=2, at=2.0, setting="innodb_redo_log_enabled", old="ON", new="OFF")
)
BY_HAND = "SET GLOBAL sync_binlog = 1; ALTER INSTANCE ENABLE INNODB REDO_LOG"


@pytest.mark.parametrize(
    "garbage",
    [b"\0\0\0\n", b'{"type":"nonsense"}\n', b'{"type":"change","seq":"one"}\n', b'"\xff"\n', b"\n", b"[]\n"],
)
def test_a_line_that_cannot_be_read_is_named_and_costs_no_good_one(garbage: bytes) -> None:
    found = journal_entries.decode_journal(HEAD + CHANGE + garbage + REDO, "/j/s1.jsonl")
    assert [journal_entries.encode_line(entry) for entry in found.entries] == [CHANGE, REDO]
    assert len(found.faults) == 1
    assert found.faults[0].startswith("line 3 cannot be read: ")


@given(st.lists(ENTRIES, max_size=4), st.binary(max_size=80), st.integers(0, 4))
def test_garbage_anywhere_behind_the_first_line_costs_no_good_line(
    entries: list[JournalEntry], garbage: bytes, place: int
) -> None:
    lines = [journal_entries.encode_line(entry) for entry in entries]
    lines.insert(place, b"#" + garbage.replace(b"\n", b"") + b"\n")
    found = journal_entries.decode_journal(HEAD + b"".join(lines), "j")
    assert found.entries == entries
    assert found.faults


@pytest.mark.parametrize("head", [b"{}\n", b"\0\n", HEAD[10:], HEAD.replace(b"identity", b"identify")])
def test_without_its_first_line_a_journal_says_what_can_be_done_by_hand(head: bytes) -> None:
    settled = journal_entries.encode_line(ChangeSettled(seqs=(3,), how=Settlement.RESTORED, at=1.0))
    other = journal_entries.encode_line(
        SettingChange(seq=3, at=2.0, setting="max_connections", old="7", new="8")
    )
    with pytest.raises(JournalError, match=r"/j/s1.jsonl does not name its server: line 1 cannot") as caught:
        journal_entries.decode_journal(head + CHANGE + REDO + other + settled, "/j/s1.jsonl")
    assert caught.value.hint == f"restore it manually and remove the file: {BY_HAND}"


@pytest.mark.parametrize("data", [b"", HEAD[:-1], b"half a line"])
def test_an_empty_journal_is_said_to_be_empty(data: bytes) -> None:
    with pytest.raises(JournalError, match=r"/j/s1.jsonl is empty"):
        journal_entries.decode_journal(data, "/j/s1.jsonl")


def test_a_newer_format_is_refused() -> None:
    with pytest.raises(JournalError, match="format 2") as caught:
        journal_entries.decode_journal(HEAD.replace(b'"format":1', b'"format":2') + CHANGE, "j")
    assert caught.value.hint.endswith("manually: SET GLOBAL sync_binlog = 1")
