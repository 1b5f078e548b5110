"""The journal: entries, ledger, what a crash leaves, and disks that refuse."""

import errno
import os
import shutil
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tuning.fakes import DURABLE, INFO, FakeClock, FakeServer, header, journal_in
from tuibench.tuning import journal
from tuibench.tuning import journal as journal_entries
from tuibench.tuning.changer import SettingsManager
from tuibench.tuning.connection import AdminConnection
from tuibench.tuning.journal import (
    ChangeConfirmed,
    ChangeSettled,
    Journal,
    JournalBusyError,
    JournalEntry,
    JournalError,
    OpenChanges,
    SettingChange,
    Settlement,
)
from tuibench.tuning.ownership import RestoreAction, decide_restore
from tuibench.tuning.restore import (
    LeftoverSetting,
    RestoreOutcome,
    RestoreResult,
    leftover_warnings,
    leftovers,
    other_sessions,
    restore_settings,
)
from tuibench.tuning.server_lock import ServerLockError, file_lock

# The journal's file: private, locked while its owner lives, synced in time, gone when all is settled.


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
    _, entries, _ = journal_entries.decode_journal(journal.path.read_bytes(), "j")
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
    assert journal.ledger.changes_of("sync_binlog")[-1].change.new == "0"
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


NO_FILES_OF_OURS = ("folder", "unreadable", "pipe", "socket", "device", "link", "stranger")
ODD = ("empty", "version", "binary", *NO_FILES_OF_OURS)


@pytest.mark.parametrize("make", ODD)
def test_whatever_is_in_the_journals_folder_is_a_message(
    tmp_path: Path, make: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not waited for."""
    path = tmp_path / "journal" / "odd.jsonl"
    path.parent.mkdir()
    if make == "folder":
        path.mkdir()
    elif make == "unreadable":
        path.symlink_to(path)
    elif make == "pipe":
        os.mkfifo(path)
    elif make == "socket":
        with monkeypatch.context() as there:
            there.chdir(path.parent)
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(path.name)
    elif make == "device":
        path.symlink_to("/dev/zero")
    elif make == "link":
        elsewhere = journal_in(tmp_path / "elsewhere")
        elsewhere.change("sync_binlog", "1", "0", 5.0)
        elsewhere.close()
        path.symlink_to(elsewhere.path)
    elif make == "stranger":
        path.write_bytes(journal_entries.encode_line(header()))
        inode, found = path.stat().st_ino, os.fstat

        def owned(fd: int) -> os.stat_result:
            values = found(fd)
            return os.stat_result([*values[:4], 4711, *values[5:10]]) if values.st_ino == inode else values

        monkeypatch.setattr(os, "fstat", owned)
    else:
        head = journal_entries.encode_line(header()).replace(b'"format":1', b'"format":9')
        path.write_bytes({"empty": b"", "version": head, "binary": bytes(range(256)) * 9}[make])
    good = journal_in(tmp_path)
    good.change("sync_binlog", "1", "0", 5.0)
    good.close()
    odd, left = leftovers(path.parent)
    assert odd.header is None
    assert str(path) in odd.text
    assert ("is not a settings journal of this account" in odd.text) == (make in NO_FILES_OF_OURS)
    assert left.settings
    assert [other.session for other in other_sessions(journal_in(tmp_path, "third"))] == ["s1"]
    assert not journal_entries.is_locked(path) or make not in NO_FILES_OF_OURS


# A file that is deleted or moved while it is open.


def opened_journal(home: Path) -> Journal:
    """With one confirmed change and one without an answer."""
    journal = journal_in(home)
    journal.applied(journal.change("sync_binlog", "1", "0", 5.0))
    journal.change("max_connections", "100", "200", 6.0)
    return journal


def open_in(path: Path) -> dict[str, bool]:
    """The settings that are to be restored by the file at this path; True for a confirmed change."""
    _, entries, faults = journal_entries.decode_journal(path.read_bytes(), "j")
    assert not faults
    ledger = OpenChanges(entries)
    return {name: ledger.changes_of(name)[-1].applied for name in ledger.open_settings}


CHANGES = {"sync_binlog": True, "max_connections": False}


@pytest.mark.parametrize("how", ["file", "home", "moved", "replaced"])
def test_a_file_that_is_gone_is_written_again_and_said(tmp_path: Path, how: str) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    journal = opened_journal(home)
    given: list[int] = []
    journal.on_file = given.append
    assert journal.keep() == ""
    if how == "file":
        journal.path.unlink()
    elif how == "home":
        shutil.rmtree(home)
    elif how == "moved":
        home.rename(away)
    else:
        journal.path.unlink()
        journal.path.write_bytes(b"of somebody else")
        with pytest.raises(JournalError, match="the file exists already"):
            journal.change("sync_binlog", "0", "2", 7.0)
        journal.path.unlink()
    assert "was deleted or moved; it has been written again" in journal.keep()
    assert open_in(journal.path) == CHANGES
    assert given == [journal._fd]
    assert journal.keep() == ""
    with pytest.raises(JournalBusyError):
        Journal.claim(journal.path)
    if how == "moved":
        assert list((away / "journal").iterdir()) == []
    journal.settle((1, 2), Settlement.RESTORED, 8.0)
    assert list(journal.path.parent.iterdir()) == []


def test_a_change_writes_it_again_first(tmp_path: Path) -> None:
    journal = opened_journal(tmp_path)
    shutil.rmtree(tmp_path / "journal")
    journal.change("long_query_time", "1", "2", 7.0)
    assert open_in(journal.path) == CHANGES | {"long_query_time": False}
    assert "written again" in journal.keep()
    journal.close()


def test_a_file_that_cannot_be_written_again_refuses_changes_and_no_restore(tmp_path: Path) -> None:
    journal = opened_journal(tmp_path / "home")
    shutil.rmtree(tmp_path / "home")
    (tmp_path / "home").write_text("in the way")
    for refused in (journal.keep, lambda: journal.change("sync_binlog", "0", "2", 7.0)):
        with pytest.raises(JournalError, match="cannot use the settings journal"):
            refused()
    assert [each.change.new for each in journal.ledger.changes_of("sync_binlog")] == ["0"]
    journal.settle((1, 2), Settlement.RESTORED, 8.0)
    assert not journal.ledger.open_settings
    journal.close()


def test_a_file_of_the_same_name_is_not_removed(tmp_path: Path) -> None:
    journal = opened_journal(tmp_path)
    journal.path.unlink()
    journal.path.write_bytes(b"of somebody else")
    journal.settle((1, 2), Settlement.RESTORED, 8.0)
    assert journal.path.read_bytes() == b"of somebody else"


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


# Journal lines as bytes: whole ones come back, a torn last one is dropped, a damaged one is named.


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
HEAD = journal.encode_line(header())


@given(st.lists(ENTRIES, max_size=6), st.data())
def test_a_journal_cut_anywhere_gives_its_whole_lines(
    entries: list[JournalEntry], data: st.DataObject
) -> None:
    lines = [journal.encode_line(entry) for entry in entries]
    rest = b"".join(lines)
    cut = data.draw(st.integers(0, len(rest)))
    found = journal.decode_journal(HEAD + rest[:cut], "j")
    assert found == (header(), entries[: rest[:cut].count(b"\n")], ())


def test_golden_lines() -> None:
    change = SettingChange(seq=1, at=2.0, setting="sync_binlog", old="1", new="0")
    assert journal.encode_line(change) == (
        b'{"type":"change","seq":1,"at":2.0,"setting":"sync_binlog","old":"1","new":"0","server_start":0}\n'
    )
    assert journal.encode_line(ChangeConfirmed(1)) == b'{"type":"applied","seq":1}\n'
    assert b"secret" not in HEAD
    assert HEAD.startswith(b'{"type":"journal","format":1,"session":"s1",')


CHANGE = journal.encode_line(SettingChange(seq=1, at=2.0, setting="sync_binlog", old="1", new="0"))
REDO = journal.encode_line(
    SettingChange(seq=2, at=2.0, setting="innodb_redo_log_enabled", old="ON", new="OFF")
)
BY_HAND = "SET GLOBAL sync_binlog = 1; ALTER INSTANCE ENABLE INNODB REDO_LOG"


@pytest.mark.parametrize(
    "garbage",
    [b"\0\0\0\n", b'{"type":"nonsense"}\n', b'{"type":"change","seq":"one"}\n', b'"\xff"\n', b"\n", b"[]\n"],
)
def test_a_line_that_cannot_be_read_is_named_and_costs_no_good_one(garbage: bytes) -> None:
    _, entries, (fault,) = journal.decode_journal(HEAD + CHANGE + garbage + REDO, "/j/s1.jsonl")
    assert [journal.encode_line(entry) for entry in entries] == [CHANGE, REDO]
    assert fault.startswith("line 3 cannot be read: ")


@given(st.lists(ENTRIES, max_size=4), st.binary(max_size=80), st.integers(0, 4))
def test_garbage_anywhere_behind_the_first_line_costs_no_good_line(
    entries: list[JournalEntry], garbage: bytes, place: int
) -> None:
    lines = [journal.encode_line(entry) for entry in entries]
    lines.insert(place, b"#" + garbage.replace(b"\n", b"") + b"\n")
    _, found, faults = journal.decode_journal(HEAD + b"".join(lines), "j")
    assert found == entries
    assert faults


@pytest.mark.parametrize("head", [b"{}\n", b"\0\n", HEAD[10:], HEAD.replace(b"identity", b"identify")])
def test_without_its_first_line_a_journal_says_what_can_be_done_by_hand(head: bytes) -> None:
    settled = journal.encode_line(ChangeSettled(seqs=(3,), how=Settlement.RESTORED, at=1.0))
    other = journal.encode_line(SettingChange(seq=3, at=2.0, setting="max_connections", old="7", new="8"))
    with pytest.raises(JournalError, match=r"/j/s1.jsonl does not name its server: line 1 cannot") as caught:
        journal.decode_journal(head + CHANGE + REDO + other + settled, "/j/s1.jsonl")
    assert caught.value.hint == f"restore it manually and remove the file: {BY_HAND}"


@pytest.mark.parametrize("data", [b"", HEAD[:-1], b"half a line"])
def test_an_empty_journal_is_said_to_be_empty(data: bytes) -> None:
    with pytest.raises(JournalError, match=r"/j/s1.jsonl is empty"):
        journal.decode_journal(data, "/j/s1.jsonl")


def test_a_newer_format_is_refused() -> None:
    with pytest.raises(JournalError, match="format 2") as caught:
        journal.decode_journal(HEAD.replace(b'"format":1', b'"format":2') + CHANGE, "j")
    assert caught.value.hint.endswith("manually: SET GLOBAL sync_binlog = 1")


# What the ledger decides, after anything that can happen to a session, its server and its neighbours.


def change(seq: int, old: str, new: str, setting: str = "x") -> SettingChange:
    return SettingChange(seq=seq, at=float(seq), setting=setting, old=old, new=new)


def settled(*seqs: int) -> ChangeSettled:
    return ChangeSettled(seqs=seqs, how=Settlement.RESTORED, at=0.0)


ONE: list[JournalEntry] = [change(1, "1", "0"), ChangeConfirmed(1)]
TWO: list[JournalEntry] = [*ONE, change(2, "0", "2"), ChangeConfirmed(2)]
UNSURE = [*ONE, change(2, "0", "2")]
OVER_FOREIGN = [*ONE, change(2, "7", "2"), ChangeConfirmed(2)]
AFTER_RESTART = [*ONE, change(2, "1", "2"), ChangeConfirmed(2)]


@pytest.mark.parametrize(
    ("entries", "current", "action", "original"),
    [
        (ONE, "0", RestoreAction.RESTORE, "1"),
        (ONE, "1", RestoreAction.NOTHING, "1"),
        (ONE, "5", RestoreAction.LEAVE, "1"),
        (TWO, "2", RestoreAction.RESTORE, "1"),
        (TWO, "0", RestoreAction.LEAVE, "1"),
        (UNSURE, "2", RestoreAction.RESTORE, "1"),
        (UNSURE, "0", RestoreAction.RESTORE, "1"),
        (UNSURE, "1", RestoreAction.NOTHING, "1"),
        (UNSURE, "9", RestoreAction.UNCLEAR, "1"),
        (OVER_FOREIGN, "2", RestoreAction.RESTORE, "7"),
        (OVER_FOREIGN, "0", RestoreAction.LEAVE, "7"),
        (AFTER_RESTART, "2", RestoreAction.RESTORE, "1"),
        ([change(1, "1", "0"), change(2, "1", "2")], "2", RestoreAction.RESTORE, "1"),
    ],
)
def test_decisions(entries: list[JournalEntry], current: str, action: RestoreAction, original: str) -> None:
    ledger = OpenChanges(entries)
    decision = decide_restore("x", current, ledger)
    assert (decision.action, decision.original) == (action, original)
    assert decision.seqs == tuple(entry.seq for entry in entries if isinstance(entry, SettingChange))
    assert ledger.original("x") == original


def test_settled_changes_are_forgotten_and_numbers_go_on() -> None:
    ledger = OpenChanges([*TWO, change(3, "1", "0", "y"), settled(1, 2)])
    assert ledger.open_settings == ("y",)
    assert ledger.original("x") is None
    assert ledger.next_seq == 4


def test_a_refused_change_leaves_the_one_before_it_in_force() -> None:
    ledger = OpenChanges(
        [*ONE, change(2, "0", "2"), ChangeSettled(seqs=(2,), how=Settlement.REFUSED, at=0.0)]
    )
    assert decide_restore("x", "0", ledger).action == RestoreAction.RESTORE
    assert ledger.changes_of("x")[-1].change.new == "0"


class Step(NamedTuple):
    """`ours` sets a value; `confirmed` and `executed` say how far that came. `foreign` is somebody else's."""

    kind: str
    value: str
    executed: bool = True
    confirmed: bool = True


VALUES = st.sampled_from("01239")
OURS = st.builds(Step, st.just("ours"), VALUES, st.booleans(), st.booleans())
FOREIGN = st.builds(Step, st.just("foreign"), VALUES)
RESTART = st.just(Step("restart", ""))


class World:
    """The server's value as it really went, and the ledger that saw only what the journal got."""

    def __init__(self, configured: str) -> None:
        self.configured = self.value = configured
        self.ledger = OpenChanges()

    def add(self, step: Step) -> None:
        if step.kind == "ours":
            self._change(step)
        else:
            self.value = self.configured if step.kind == "restart" else step.value

    def _change(self, step: Step) -> None:
        if self.value == step.value:
            return
        seq = self.ledger.next_seq
        self.ledger.add(change(seq, self.value, step.value))
        if step.executed:
            self.value = step.value
            if step.confirmed:
                self.ledger.add(ChangeConfirmed(seq))

    def end(self) -> RestoreAction:
        """Does what the ledger says; that settles everything."""
        if not self.ledger.open_settings:
            return RestoreAction.NOTHING
        decision = decide_restore("x", self.value, self.ledger)
        if decision.action == RestoreAction.RESTORE:
            self.value = decision.original
        self.ledger.add(settled(*decision.seqs))
        assert not self.ledger.open_settings
        return decision.action


@given(VALUES, st.lists(OURS | RESTART, max_size=12))
def test_alone_on_the_server_the_original_value_always_comes_back(configured: str, steps: list[Step]) -> None:
    world = World(configured)
    for step in steps:
        world.add(step)
    assert world.end() != RestoreAction.LEAVE
    assert world.value == configured


@given(VALUES, st.lists(OURS | RESTART | FOREIGN, max_size=12), VALUES)
def test_a_foreign_value_that_was_never_ours_stays(configured: str, steps: list[Step], last: str) -> None:
    world = World(configured)
    for step in steps:
        world.add(step)
    foreign = f"{last}00"
    world.add(Step("foreign", foreign))
    world.end()
    assert world.value == foreign


@given(VALUES, st.lists(OURS, max_size=6), VALUES)
def test_a_foreign_value_set_before_our_last_change_is_restored(
    configured: str, steps: list[Step], ours: str
) -> None:
    world = World(configured)
    for step in steps:
        world.add(step)
    world.add(Step("foreign", "77"))
    world.add(Step("ours", ours))
    assert world.end() == RestoreAction.RESTORE
    assert world.value == "77"


# Finding what dead sessions left, and only that.


def test_only_dead_sessions_with_open_changes_are_found(tmp_path: Path) -> None:
    dead, alive, done = (journal_in(tmp_path, name) for name in ("dead", "alive", "done"))
    for each in (dead, done):
        each.change("sync_binlog", "1", "0", 5.0)
    alive.change("max_connections", "1", "0", 5.0)
    dead.close()
    kept = done.path.read_bytes()
    done.settle((1,), Settlement.RESTORED, 6.0)
    done.path.write_bytes(kept + b'{"type":"settled","seqs":[1],"how":"restored","at":6.0}\n')
    (found,) = leftovers(dead.path.parent)
    assert found.path == dead.path
    assert found.settings == (LeftoverSetting("sync_binlog", "1", "0"),)
    assert found.text == "sync_binlog 1 → 0 on socket /run/s.sock (session dead)"
    assert leftover_warnings(dead.path.parent) == [f"left changed by an earlier session: {found.text}"]
    assert not done.path.exists()
    assert alive.path.exists()
    alive.close()
    assert [one.path.stem for one in leftovers(dead.path.parent)] == ["alive", "dead"]


def test_what_many_sessions_left_changed_is_one_line(tmp_path: Path) -> None:
    """Killed while an A/B test has the first value again, a session has left nothing to tell."""
    for name, values, applied in (
        ("a", ("0",), True),
        ("b", ("0", "1"), True),
        ("c", ("0", "1"), False),
        ("d", ("0", "1", "5"), True),
    ):
        with journal_in(tmp_path, name) as journal:
            for old, new in pairwise(("1", *values)):
                change = journal.change("sync_binlog", old, new, 5.0)
                if applied:
                    journal.applied(change)
    folder = tmp_path / "journal"
    assert leftover_warnings(folder) == [
        "left changed by an earlier session: sync_binlog 1 → 5 on socket /run/s.sock (session d); "
        "and by 2 other sessions"
    ]
    (folder / "odd.jsonl").write_bytes(b"x\n")
    assert len(leftover_warnings(folder)) == 2
    assert [one.path.stem for one in leftovers(folder)] == ["a", "b", "c", "d", "odd"]


def test_a_private_server_that_is_gone_needs_no_restoring(tmp_path: Path) -> None:
    kept = tmp_path / "tuibench-demo-kept"
    kept.mkdir()
    for name, host, place in (
        ("gone", socket.gethostname(), tmp_path / "tuibench-demo-gone" / "data"),
        ("kept", socket.gethostname(), kept / "data"),
        ("other-host", "elsewhere", tmp_path / "tuibench-demo-gone" / "data"),
        ("no-private", socket.gethostname(), tmp_path / "mysql"),
    ):
        with journal_in(tmp_path, name) as journal:
            journal.identify(f"{host}:3306:{place}/")
            journal.change("sync_binlog", "1", "0", 5.0)
    assert [one.path.stem for one in leftovers(tmp_path / "journal")] == ["kept", "no-private", "other-host"]
    assert not (tmp_path / "journal" / "gone.jsonl").exists()


def test_a_damaged_journal_is_reported_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"x\n")
    (found,) = leftovers(tmp_path)
    assert found.header is None
    assert f"the settings journal {path} does not name its server" in found.text
    assert path.read_bytes() == b"x\n"


def test_no_journal_directory_means_nothing_left(tmp_path: Path) -> None:
    assert leftovers(tmp_path / "none") == []


def test_journals_that_cannot_be_looked_for_are_not_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (found,) = leftovers(tmp_path / "file")
    assert found.header is None
    assert found.text == f"cannot read the journals in {tmp_path / 'file'}: Not a directory"
    assert leftover_warnings(tmp_path / "file") == [found.text]


# A disk that became read-only under the journal: the settings go back all the same, and it is said so.


@contextmanager
def frozen() -> Iterator[None]:
    """Everything can be read, and nothing written."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    opened = os.open

    def readable(path: Any, flags: int, *rest: Any, **words: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            refuse()
        return opened(path, flags, *rest, **words)

    with pytest.MonkeyPatch.context() as disk:
        disk.setattr(os, "open", readable)
        for name in ("chmod", "unlink", "rename", "ftruncate"):
            disk.setattr(os, name, refuse)
        yield


async def left(server: FakeServer, folder: Path) -> Path:
    """The journal of a session that is gone, and has left two settings changed."""
    tuner = SettingsManager(server.connect, journal_in(folder, "dead"), INFO, clock=FakeClock())
    await tuner.open()
    await tuner.apply("unsafe")
    await tuner.close()
    return tuner.journal.path


async def put_back(server: FakeServer, path: Path) -> list[RestoreResult]:
    journal = Journal.claim(path)
    assert journal is not None
    control = AdminConnection(server.connect)
    with journal:
        restored = await restore_settings(control, journal, FakeClock())
    await control.close()
    return restored


@pytest.mark.parametrize("locks_are_there", [True, False])
async def test_settings_are_restored_and_unwritten_journal_entries_reported(
    locks_are_there: bool, tmp_path: Path
) -> None:
    server = FakeServer()
    path = await left(server, tmp_path)
    if not locks_are_there:
        locks = path.parent.with_name("locks")
        for lock in locks.iterdir():
            lock.unlink()
        locks.rmdir()
    written = path.read_bytes()
    with frozen():
        (leftover,) = leftovers(path.parent)
        restored = await put_back(server, path)
    assert len(leftover.settings) == len(restored) > 1
    assert server.settings == DURABLE
    assert {one.outcome for one in restored} == {RestoreOutcome.RESTORED}
    assert all("stays in the journal" in one.text and "Read-only file system" in one.text for one in restored)
    assert path.read_bytes() == written
    assert {one.outcome for one in await put_back(server, path)} == {RestoreOutcome.UNCHANGED}
    assert not path.exists()


async def test_a_half_written_line_stays_where_it_is(tmp_path: Path) -> None:
    server = FakeServer()
    path = await left(server, tmp_path)
    path.write_bytes(path.read_bytes() + b'{"type":"chan')
    with frozen():
        assert {one.outcome for one in await put_back(server, path)} == {RestoreOutcome.RESTORED}


async def test_two_that_can_only_read_still_take_turns(tmp_path: Path) -> None:
    path = await left(FakeServer(), tmp_path)
    with frozen():
        first = Journal.claim(path)
        assert first is not None
        with first, pytest.raises(JournalBusyError):
            Journal.claim(path)
        async with file_lock(path.parent, "box", FakeClock()):
            with pytest.raises(ServerLockError):
                async with file_lock(path.parent, "box", FakeClock()):
                    pass


def test_a_journal_that_is_done_and_cannot_be_removed_is_nothing_left(tmp_path: Path) -> None:
    journal = journal_in(tmp_path, "done")
    journal.change("sync_binlog", "1", "0", 5.0)
    kept = journal.path.read_bytes()
    journal.settle((1,), Settlement.RESTORED, 6.0)
    journal.path.write_bytes(kept + b'{"type":"settled","seqs":[1],"how":"restored","at":6.0}\n')
    with frozen():
        assert leftovers(journal.path.parent) == []
    assert leftovers(journal.path.parent) == []
    assert not journal.path.exists()
