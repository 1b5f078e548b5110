"""The journal's file: private, locked while its owner lives, synced in time, gone when all is settled."""

import os
import stat
from pathlib import Path

import pytest

from tests.unit.tuning.fakes import header, journal_in
from tuibench.tuning.undo import journal_entries
from tuibench.tuning.undo.journal import Journal, JournalBusyError
from tuibench.tuning.undo.journal_entries import JournalError, Settlement
from tuibench.tuning.undo.leftovers import leftovers


def test_the_file_comes_with_the_first_change_and_is_private(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    assert not journal.path.exists()
    journal.change("sync_binlog", "1", "0", 5.0)
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(journal.path.parent.stat().st_mode) == 0o700
    assert [path.name for path in journal.path.parent.iterdir()] == ["s1.jsonl"]
    journal.close()


def test_file_and_directory_are_synced_before_a_change_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[bool, int]] = []
    fsync = os.fsync

    def recorded(fd: int) -> None:
        found = os.fstat(fd)
        synced.append((stat.S_ISDIR(found.st_mode), found.st_size if stat.S_ISREG(found.st_mode) else 0))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", recorded)
    with journal_in(tmp_path) as journal:
        journal.change("sync_binlog", "1", "0", 5.0)
        assert any(is_directory for is_directory, _ in synced)
        journal.change("sync_binlog", "0", "2", 6.0)
        assert synced[-1] == (False, journal.path.stat().st_size)


def test_a_live_owner_is_not_disturbed_and_a_dead_one_is_inherited(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    change = journal.change("sync_binlog", "1", "0", 5.0)
    journal.applied(change)
    with pytest.raises(JournalBusyError):
        Journal.claim(journal.path)
    journal.close()
    successor = Journal.claim(journal.path)
    assert successor
    assert successor.header == header()
    assert successor.ledger.original("sync_binlog") == "1"
    successor.settle((change.seq,), Settlement.RESTORED, 6.0)
    assert not journal.path.exists()
    assert Journal.claim(journal.path) is None


def test_a_settled_journal_can_be_used_again(tmp_path: Path) -> None:
    with journal_in(tmp_path) as journal:
        first = journal.change("sync_binlog", "1", "0", 5.0)
        journal.settle((first.seq,), Settlement.REFUSED, 6.0, "no privilege")
        assert not journal.path.exists()
        second = journal.change("sync_binlog", "1", "2", 7.0)
        assert (second.seq, journal.path.exists()) == (2, True)


def test_a_half_written_line_is_cut_off_before_more_is_written(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    journal.change("sync_binlog", "1", "0", 5.0)
    journal.close()
    with journal.path.open("ab") as file:
        file.write(b'{"type":"change","seq":2,"at":')
    with Journal.claim(journal.path) or journal as successor:
        successor.change("sync_binlog", "0", "2", 6.0)
    entries = journal_entries.decode_journal(journal.path.read_bytes(), "j").entries
    assert len(entries) == 2


def test_a_damaged_journal_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(b"garbage\n")
    for _ in range(2):
        with pytest.raises(JournalError, match=r"s1.jsonl does not name its server"):
            Journal.claim(path)
    assert path.read_bytes() == b"garbage\n"


def test_a_leftover_of_the_same_name_is_not_overwritten(tmp_path: Path) -> None:
    first = journal_in(tmp_path)
    first.change("sync_binlog", "1", "0", 5.0)
    first.close()
    before = first.path.read_bytes()
    second = journal_in(tmp_path)
    with pytest.raises(JournalError, match="exists already"):
        second.change("sync_binlog", "1", "0", 5.0)
    assert first.path.read_bytes() == before


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = journal_in(tmp_path)
    journal.change("sync_binlog", "1", "0", 5.0)
    before = journal.path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(JournalError, match="No space left on device"):
            journal.change("sync_binlog", "0", "2", 6.0)
    assert journal.path.read_bytes() == before
    assert journal.ledger.last("sync_binlog") == "0"
    journal.close()


def test_a_directory_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("in the way")
    with pytest.raises(JournalError, match="cannot use the settings journal"):
        journal_in(tmp_path).change("sync_binlog", "1", "0", 5.0)


def damaged(folder: Path) -> Path:
    """A dead session's journal with two changes, and garbage between them."""
    journal = journal_in(folder)
    journal.change("sync_binlog", "1", "0", 5.0)
    journal.close()
    head, change = journal.path.read_bytes().splitlines(keepends=True)
    other = change.replace(b"sync_binlog", b"max_connections").replace(b'"seq":1', b'"seq":2')
    journal.path.write_bytes(head + change + b"\0\0garbage\n" + other)
    return journal.path


def test_good_lines_around_garbage_count_and_the_file_is_kept_for_people(tmp_path: Path) -> None:
    path = damaged(tmp_path)
    before = path.read_bytes()
    (left,) = leftovers(path.parent)
    assert [setting.name for setting in left.settings] == ["sync_binlog", "max_connections"]
    assert left.text.endswith(f"in {path}, {left.problem.partition(', ')[2]}")
    assert "line 3 cannot be read" in left.text
    assert path.read_bytes() == before
    successor = Journal.claim(path)
    assert successor
    with successor:
        successor.settle((1, 2), Settlement.RESTORED, 6.0)
    assert not path.exists()
    aside = path.with_name(path.name + ".damaged")
    assert b"garbage" in aside.read_bytes()
    assert leftovers(path.parent) == []


@pytest.mark.parametrize("make", ["empty", "folder", "unreadable", "version", "binary"])
def test_whatever_is_in_the_journals_folder_is_a_message(tmp_path: Path, make: str) -> None:
    path = tmp_path / "journal" / "odd.jsonl"
    path.parent.mkdir()
    if make == "folder":
        path.mkdir()
    elif make == "unreadable":
        path.symlink_to(path)
    else:
        head = journal_entries.encode_line(header()).replace(b'"format":1', b'"format":9')
        path.write_bytes({"empty": b"", "version": head, "binary": bytes(range(256)) * 9}[make])
    good = journal_in(tmp_path)
    good.change("sync_binlog", "1", "0", 5.0)
    good.close()
    odd, left = leftovers(path.parent)
    assert odd.header is None
    assert str(path) in odd.text
    assert left.settings


def test_handed_over_changes_stay_open_for_their_heir(tmp_path: Path) -> None:
    with journal_in(tmp_path) as journal:
        first = journal.change("sync_binlog", "1", "0", 5.0)
        journal.hand_over((first.seq,), "b", 6.0)
    successor = Journal.claim(journal.path)
    assert successor
    (kept,) = successor.ledger.changes_of("sync_binlog")
    assert kept.handed
    successor.settle((first.seq,), Settlement.RESTORED, 7.0)
    assert not journal.path.exists()
    successor.close()


def test_a_change_takes_a_number_above_those_of_the_neighbours(tmp_path: Path) -> None:
    with journal_in(tmp_path) as journal:
        assert journal.change("sync_binlog", "1", "0", 5.0, seq=7).seq == 7
        assert journal.change("sync_binlog", "0", "1", 5.0, seq=3).seq == 8
