"""Other sessions of tuibench, and changes by others."""

import itertools
from pathlib import Path

import pytest

from tests.unit.tuning.fakes import INFO, FakeClock, FakeServer, journal_in
from tuibench.base.errors import SQLError
from tuibench.tuning import journal as durable_file
from tuibench.tuning import server_lock
from tuibench.tuning.changer import SettingsManager
from tuibench.tuning.journal import Journal
from tuibench.tuning.restore import (
    UNKNOWN_AUTHOR,
    ChangeAttribution,
    RestoreOutcome,
    RestoreResult,
    leftovers,
    restore_settings,
)

# Several sessions on one server: whoever ends last puts back what was before the first.


async def opened(server: FakeServer, folder: Path, session: str) -> SettingsManager:
    tuner = SettingsManager(server.connect, journal_in(folder, session), INFO, clock=FakeClock())
    await tuner.open()
    return tuner


async def ended(tuner: SettingsManager) -> RestoreResult:
    (restored,) = await tuner.restore()
    await tuner.close()
    return restored


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


async def test_the_one_below_leaves_it_to_the_one_on_top(server: FakeServer, tmp_path: Path) -> None:
    a, b = await opened(server, tmp_path, "a"), await opened(server, tmp_path, "b")
    await a.change("sync_binlog", "0")
    await b.change("sync_binlog", "2")
    assert (await ended(a)).text == (
        "sync_binlog stays 2: session b has changed it, too, and restores 1 when it ends"
    )
    assert server.settings["sync_binlog"] == "2"
    assert leftovers(a.journal.path.parent) == []
    assert (await ended(b)).text == "sync_binlog 2 → 1, as before"
    assert server.settings["sync_binlog"] == "1"
    assert not a.journal.path.exists()
    assert not b.journal.path.exists()


async def test_the_one_on_top_puts_back_what_the_other_one_has(server: FakeServer, tmp_path: Path) -> None:
    a, b = await opened(server, tmp_path, "a"), await opened(server, tmp_path, "b")
    await a.change("sync_binlog", "0")
    await b.change("sync_binlog", "2")
    assert (await ended(b)).text == "sync_binlog 2 → 0, as session a has it"
    assert server.settings["sync_binlog"] == "0"
    assert (await ended(a)).text == "sync_binlog 0 → 1, as before"
    assert server.settings["sync_binlog"] == "1"


@pytest.mark.parametrize("order", list(itertools.permutations("abc")))
async def test_the_order_of_the_ends_does_not_matter(
    server: FakeServer, tmp_path: Path, order: tuple[str, ...]
) -> None:
    tuners = {name: await opened(server, tmp_path, name) for name in "abc"}
    for name, value in (("a", "0"), ("b", "2"), ("c", "3"), ("a", "4"), ("b", "5")):
        await tuners[name].change("sync_binlog", value)
    for name in order:
        assert server.settings["sync_binlog"] != "1"
        await ended(tuners[name])
    assert server.settings["sync_binlog"] == "1"
    assert list(tuners["a"].journal.path.parent.iterdir()) == []


async def test_who_wants_the_value_that_another_one_has_set_keeps_it(
    server: FakeServer, tmp_path: Path
) -> None:
    a, b = await opened(server, tmp_path, "a"), await opened(server, tmp_path, "b")
    await a.change("sync_binlog", "0")
    await b.change("sync_binlog", "0")
    assert (await ended(a)).outcome is RestoreOutcome.HANDED
    assert server.settings["sync_binlog"] == "0"
    await ended(b)
    assert server.settings["sync_binlog"] == "1"


async def test_what_was_handed_over_is_put_back_though_its_journal_is_not_let_go_yet(
    server: FakeServer, tmp_path: Path
) -> None:
    a, b = await opened(server, tmp_path, "a"), await opened(server, tmp_path, "b")
    await a.change("sync_binlog", "0")
    await b.change("sync_binlog", "2")
    await a.restore()
    assert durable_file.is_locked(a.journal.path)
    assert (await ended(b)).text == "sync_binlog 2 → 1, as before"
    assert server.settings["sync_binlog"] == "1"
    (restored,) = await a.restore()
    assert restored.outcome is RestoreOutcome.UNCHANGED
    assert not a.journal.path.exists()
    await a.close()


async def test_a_session_that_goes_on_after_handing_over_is_an_owner_again(
    server: FakeServer, tmp_path: Path
) -> None:
    a, b = await opened(server, tmp_path, "a"), await opened(server, tmp_path, "b")
    await a.change("sync_binlog", "0")
    await b.change("sync_binlog", "2")
    await a.restore()
    await a.change("sync_binlog", "3")
    assert (await ended(b)).outcome is RestoreOutcome.HANDED
    assert server.settings["sync_binlog"] == "3"
    assert (await ended(a)).text == "sync_binlog 3 → 1, as before"
    assert list(a.journal.path.parent.iterdir()) == []


async def test_an_heir_that_cannot_says_so_and_both_journals_stay(server: FakeServer, tmp_path: Path) -> None:
    a, b = await opened(server, tmp_path, "a"), await opened(server, tmp_path, "b")
    await a.change("sync_binlog", "0")
    await b.change("sync_binlog", "2")
    await ended(a)

    def refuse(name: str, _: str) -> None:
        server.settings[name] = "2"
        raise SQLError(1227, "Access denied")

    server.on_set = refuse
    refused = await ended(b)
    assert refused.outcome is RestoreOutcome.REFUSED
    assert refused.text == (
        "sync_binlog stays 2, it was 1: Access denied (error 1227); manually: SET GLOBAL sync_binlog = 1"
    )
    assert [left.path.stem for left in leftovers(a.journal.path.parent)] == ["a", "b"]


async def test_sessions_on_other_servers_are_none_of_ours(server: FakeServer, tmp_path: Path) -> None:
    other = FakeServer()
    other.identity["datadir"] = "/elsewhere/"
    a, b = await opened(server, tmp_path, "a"), await opened(other, tmp_path, "b")
    await b.change("sync_binlog", "7")
    await a.change("sync_binlog", "0")
    assert (await ended(a)).text == "sync_binlog 0 → 1, as before"
    assert other.settings["sync_binlog"] == "7"
    await ended(b)


async def test_a_broken_journal_beside_ours_has_no_say(server: FakeServer, tmp_path: Path) -> None:
    a = await opened(server, tmp_path, "a")
    folder = a.journal.path.parent
    folder.mkdir()
    (folder / "broken.jsonl").write_bytes(b"\0\n")
    (folder / "folder.jsonl").mkdir()
    await a.change("sync_binlog", "0")
    assert (await ended(a)).outcome is RestoreOutcome.RESTORED


async def test_a_limit_that_another_session_needs_is_not_restored_yet(
    server: FakeServer, tmp_path: Path
) -> None:
    server.settings |= {"innodb_io_capacity": "200", "innodb_io_capacity_max": "2000"}
    a, b = await opened(server, tmp_path, "a"), await opened(server, tmp_path, "b")
    await a.change("innodb_io_capacity_max", "20000")
    await b.change("innodb_io_capacity", "15000")
    refused = await ended(a)
    assert refused.outcome is RestoreOutcome.REFUSED
    assert "may not be below innodb_io_capacity, which is 15000" in refused.text
    await ended(b)
    journal = Journal.claim(a.journal.path)
    assert journal
    with journal:
        await restore_settings(a.control, journal, FakeClock())
    assert server.settings["innodb_io_capacity_max"] == "2000"


async def test_after_a_restart_each_session_settles_what_is_its_own(
    server: FakeServer, tmp_path: Path
) -> None:
    a, b = await opened(server, tmp_path, "a"), await opened(server, tmp_path, "b")
    await a.apply("unsafe")
    await b.change("sync_binlog", "2")
    server.settings |= {"innodb_flush_log_at_trx_commit": "1", "sync_binlog": "1"}
    assert await a.after_restart() == [
        "innodb_flush_log_at_trx_commit is 1 again, as before tuibench",
        "sync_binlog is 1 again, as before tuibench",
    ]
    assert await b.after_restart() == ["sync_binlog is 1 again, as before tuibench"]
    assert [one.outcome for one in await a.restore()] == [RestoreOutcome.UNCHANGED]
    assert not a.journal.path.exists()
    assert not b.journal.path.exists()


async def test_a_restart_into_another_configuration_is_no_restore(server: FakeServer, tmp_path: Path) -> None:
    a = await opened(server, tmp_path, "a")
    await a.apply("unsafe")
    server.settings["sync_binlog"] = "50"
    assert await a.after_restart() == [
        "sync_binlog is 50 now, as the server is configured; before tuibench it was 1",
        "innodb_flush_log_at_trx_commit is still 0, and is restored at the end",
    ]
    assert (await ended(a)).setting == "innodb_flush_log_at_trx_commit"
    assert server.settings["sync_binlog"] == "50"


async def test_a_restart_settles_a_change_that_got_no_answer(server: FakeServer, tmp_path: Path) -> None:
    a = await opened(server, tmp_path, "a")
    a.journal.change("sync_binlog", "1", "0", 5.0)
    server.settings["sync_binlog"] = "50"
    assert (await a.restore())[0].outcome is RestoreOutcome.UNCLEAR
    assert await a.after_restart() == [
        "sync_binlog is 50 now, as the server is configured; before tuibench it was 1",
    ]
    assert not a.journal.path.exists()
    assert server.settings["sync_binlog"] == "50"


async def test_who_waits_too_long_for_his_turn_says_why(server: FakeServer, tmp_path: Path) -> None:
    a = await opened(server, tmp_path, "a")
    await a.change("sync_binlog", "0")
    async with server_lock.file_lock(a.journal.path.parent, INFO.identity, FakeClock()):
        (restored,) = await a.restore()
        assert restored.outcome is RestoreOutcome.UNREACHABLE
        assert "another tuibench has been changing settings on this server for 30 s" in restored.text
        with pytest.raises(server_lock.ServerLockError):
            await a.change("sync_binlog", "2")
    assert (await ended(a)).outcome is RestoreOutcome.RESTORED


# Whose change it was: another session's journal tells, as long as it is there.


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
