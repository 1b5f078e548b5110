"""Finding what dead sessions left, and only that."""

from pathlib import Path

from tests.unit.tuning.fakes import journal_in
from tuibench.tuning.undo.journal_entries import Settlement
from tuibench.tuning.undo.leftovers import LeftoverSetting, leftovers


def test_only_dead_sessions_with_open_changes_are_found(tmp_path: Path) -> None:
    dead, alive, done = (journal_in(tmp_path, name) for name in ("dead", "alive", "done"))
    for journal in (dead, done):
        journal.change("sync_binlog", "1", "0", 5.0)
    alive.change("max_connections", "1", "0", 5.0)
    dead.close()
    kept = done.path.read_bytes()
    done.settle((1,), Settlement.RESTORED, 6.0)
    done.path.write_bytes(kept + b'{"type":"settled","seqs":[1],"how":"restored","at":6.0}\n')
    (found,) = leftovers(dead.path.parent)
    assert found.path == dead.path
    assert found.settings == (LeftoverSetting("sync_binlog", "1", "0"),)
    assert found.text == "sync_binlog 1 → 0 on socket /run/s.sock (session dead)"
    assert found.warning == f"left changed by an earlier session: {found.text}"
    assert not done.path.exists()
    assert alive.path.exists()
    alive.close()
    assert [one.path.stem for one in leftovers(dead.path.parent)] == ["alive", "dead"]


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
    assert found.warning == found.text
