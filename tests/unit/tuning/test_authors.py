"""Whose change it was: another session's journal tells, as long as it is there."""

from pathlib import Path

from tests.unit.tuning.fakes import INFO, FakeClock, FakeServer, journal_in
from tests.unit.tuning.test_neighbours import ended, opened
from tuibench.tuning.authors import SOMEBODY, Authors
from tuibench.tuning.tuner import Tuner


async def test_what_another_session_set_and_put_back_is_told_by_its_name(tmp_path: Path) -> None:
    server = FakeServer()
    authors = Authors(journal_in(tmp_path, "ours"))
    other = await opened(server, tmp_path, "theirs")
    await other.change("sync_binlog", "0")
    assert authors.who("sync_binlog", "0") == "session theirs set"
    assert authors.who("sync_binlog", "7") == SOMEBODY
    await ended(other)
    assert authors.who("sync_binlog", "1") == SOMEBODY


async def test_a_value_that_comes_back_is_put_back_by_who_changed_it(tmp_path: Path) -> None:
    server = FakeServer()
    authors = Authors(journal_in(tmp_path, "ours"))
    other = await opened(server, tmp_path, "theirs")
    await other.change("sync_binlog", "0")
    authors.who("sync_binlog", "0")
    await ended(other)
    assert authors.who("sync_binlog", "1") == "session theirs put back"
    assert authors.who("sync_binlog", "1") == SOMEBODY


async def test_of_several_the_last_one_is_named(tmp_path: Path) -> None:
    server = FakeServer()
    authors = Authors(journal_in(tmp_path, "ours"))
    first, second = await opened(server, tmp_path, "first"), await opened(server, tmp_path, "second")
    for tuner, value in ((first, "2"), (second, "0"), (first, "2")):
        await tuner.change("sync_binlog", value)
    assert authors.who("sync_binlog", "2") == "session first set"
    assert authors.who("sync_binlog", "0") == "session second set"


async def test_our_own_journal_and_those_of_other_servers_name_nobody(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = Tuner(server.connect, journal_in(tmp_path, "ours"), INFO, clock=FakeClock())
    await tuner.open()
    await tuner.change("sync_binlog", "0")
    assert Authors(tuner.journal).who("sync_binlog", "0") == SOMEBODY
