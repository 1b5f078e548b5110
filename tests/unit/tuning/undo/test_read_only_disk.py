"""A disk that became read-only under the journal: the settings go back all the same, and it is said so."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.unit.tuning.fakes import DURABLE, INFO, FakeClock, FakeServer, journal_in
from tuibench.tuning.admin_connection import AdminConnection
from tuibench.tuning.change.settings_manager import SettingsManager
from tuibench.tuning.undo.journal import Journal, JournalBusyError
from tuibench.tuning.undo.journal_entries import Settlement
from tuibench.tuning.undo.leftovers import leftovers
from tuibench.tuning.undo.restore import RestoreOutcome, RestoreResult, restore_settings
from tuibench.tuning.undo.server_lock import ServerLockError, server_lock


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
    with journal:
        return await restore_settings(AdminConnection(server.connect), journal, FakeClock())


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
        async with server_lock(path.parent, "box", FakeClock()):
            with pytest.raises(ServerLockError):
                async with server_lock(path.parent, "box", FakeClock()):
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
