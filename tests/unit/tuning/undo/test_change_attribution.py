"""Whose change it was: another session's journal tells, as long as it is there."""

from pathlib import Path

from tests.unit.tuning.fakes import INFO, FakeClock, FakeServer, journal_in
from tests.unit.tuning.undo.test_other_sessions import ended, opened
from tuibench.tuning.change.settings_manager import SettingsManager
from tuibench.tuning.undo.other_sessions import UNKNOWN_AUTHOR, ChangeAttribution


async def test_changes_and_restores_of_another_session_are_attributed_to_it(tmp_path: Path) -> None:
    server = FakeServer()
    authors = ChangeAttribution(journal_in(tmp_path, "ours"))
    other = await opened(server, tmp_path, "theirs")
    await other.change("sync_binlog", "0")
    assert authors.author_of("sync_binlog", "0") == "session theirs set"
    assert authors.author_of("sync_binlog", "7") == UNKNOWN_AUTHOR
    await ended(other)
    assert authors.author_of("sync_binlog", "1") == UNKNOWN_AUTHOR


async def test_a_value_that_comes_back_is_put_back_by_who_changed_it(tmp_path: Path) -> None:
    server = FakeServer()
    authors = ChangeAttribution(journal_in(tmp_path, "ours"))
    other = await opened(server, tmp_path, "theirs")
    await other.change("sync_binlog", "0")
    authors.author_of("sync_binlog", "0")
    await ended(other)
    assert authors.author_of("sync_binlog", "1") == "session theirs restored"
    assert authors.author_of("sync_binlog", "1") == UNKNOWN_AUTHOR


async def test_of_several_the_last_one_is_named(tmp_path: Path) -> None:
    server = FakeServer()
    authors = ChangeAttribution(journal_in(tmp_path, "ours"))
    first, second = await opened(server, tmp_path, "first"), await opened(server, tmp_path, "second")
    for tuner, value in ((first, "2"), (second, "0"), (first, "2")):
        await tuner.change("sync_binlog", value)
    assert authors.author_of("sync_binlog", "2") == "session first set"
    assert authors.author_of("sync_binlog", "0") == "session second set"


async def test_own_journals_and_those_of_other_servers_attribute_nothing(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = SettingsManager(server.connect, journal_in(tmp_path, "ours"), INFO, clock=FakeClock())
    await tuner.open()
    await tuner.change("sync_binlog", "0")
    assert ChangeAttribution(tuner.journal).author_of("sync_binlog", "0") == UNKNOWN_AUTHOR
