"""Sessions of two homes, of two hosts, and of a server that was started again."""

import os
import re
from pathlib import Path

import msgspec
import pytest

from tests.unit.tuning.fakes import INFO, FakeClock, FakeServer, header, journal_in
from tuibench.base.errors import ConnectionLostError
from tuibench.tuning import restore
from tuibench.tuning.changer import SettingsManager
from tuibench.tuning.connection import AdminConnection
from tuibench.tuning.guardian import restore_until_done
from tuibench.tuning.journal import Journal, JournalHeader, encode_line, read_journal
from tuibench.tuning.restore import (
    RestoreOutcome,
    RestoreResult,
    leftover_warnings,
    leftovers,
    restore_leftover,
    restore_settings,
)
from tuibench.tuning.server_lock import LOCK_NAME, ServerLockError

NAME = "sync_binlog"


@pytest.fixture
def server() -> FakeServer:
    return FakeServer(sync_binlog="5")


async def opened(server: FakeServer, home: Path, session: str = "s1") -> SettingsManager:
    tuner = SettingsManager(server.connect, journal_in(home, session), INFO, clock=FakeClock())
    await tuner.open()
    return tuner


def lost(tuner: SettingsManager) -> None:
    """The control connection of a session breaks."""
    tuner.control._drop()


def died(tuner: SettingsManager) -> Path:
    """A session is killed; its journal."""
    lost(tuner)
    tuner.journal._release()
    return tuner.journal.path


# Two homes: whoever comes second is told before it changes anything.


async def test_a_second_home_is_told_before_it_changes(server: FakeServer, tmp_path: Path) -> None:
    a, b = await opened(server, tmp_path / "a"), await opened(server, tmp_path / "b")
    await a.change(NAME, "0")
    told = r"of another home or host, has changed settings of this server: connection 1 \(u@box:1\)"
    with pytest.raises(ServerLockError, match=told) as refused:
        await b.change(NAME, "1")
    assert "KILL 1" in refused.value.hint
    assert (server.settings[NAME], b.journal.path.exists()) == ("0", False)
    await a.restore()
    assert server.locks == {}
    await b.change(NAME, "1")
    await b.restore()
    assert server.settings[NAME] == "5"


async def test_a_refused_change_holds_nothing(server: FakeServer, tmp_path: Path) -> None:
    a = await opened(server, tmp_path)
    assert (await a.change(NAME, "5")).value == "5"
    assert server.locks == {}


async def test_the_sessions_of_one_home_share_the_lock(server: FakeServer, tmp_path: Path) -> None:
    a, b = await opened(server, tmp_path, "a"), await opened(server, tmp_path, "b")
    await a.change(NAME, "0")
    await b.change(NAME, "1")
    await a.restore()
    await a.close()
    assert server.locks == {}
    assert await b.keep() == ""
    assert server.locks[LOCK_NAME] == 2
    await b.restore()
    assert (server.settings[NAME], server.locks) == ("5", {})


async def test_a_lock_lost_with_its_connection_ends_at_the_oldest_value(
    server: FakeServer, tmp_path: Path
) -> None:
    """The other home changes in between, and is waited for."""
    a, b = await opened(server, tmp_path / "a"), await opened(server, tmp_path / "b")
    await a.change(NAME, "0")
    lost(a)
    await b.change(NAME, "1")
    with pytest.raises(ServerLockError):
        await a.keep()
    (waiting,) = await a.restore()
    assert waiting.outcome is RestoreOutcome.UNREACHABLE
    assert "another tuibench" in waiting.text
    assert server.settings[NAME] == "1"
    await b.restore()
    await b.close()
    assert [one.outcome for one in await a.restore()] == [RestoreOutcome.RESTORED]
    assert server.settings[NAME] == "5"


async def test_a_lock_lost_in_the_middle_of_a_change_is_taken_again(
    server: FakeServer, tmp_path: Path
) -> None:
    a = await opened(server, tmp_path)
    once, sent = a.control._once, list[str]()

    async def breaks(sql: str, seconds: float | None) -> object:
        if sql.startswith("SET GLOBAL") and not sent:
            sent.append(sql)
            lost(a)
            raise ConnectionLostError(2013, "connection lost")
        return await once(sql, seconds)

    a.control._once = breaks  # type: ignore[method-assign, assignment]
    await a.change(NAME, "0")
    assert (server.settings[NAME], server.locks) == ("0", {LOCK_NAME: 2})
    await a.restore()


async def test_the_guardian_of_a_dead_session_waits_for_the_other_home(
    server: FakeServer, tmp_path: Path
) -> None:
    a, b, clock = await opened(server, tmp_path / "a"), await opened(server, tmp_path / "b"), FakeClock()
    await a.change(NAME, "0")
    path = died(a)
    await b.change(NAME, "1")

    def b_ends() -> None:
        if clock.seconds > 20:
            server.settings[NAME] = "0"
            died(b).unlink(missing_ok=True)
            clock.at_sleep = lambda: None

    clock.at_sleep = b_ends
    assert await restore_until_done(path, server.connect, clock)
    assert 20 < clock.seconds < 30
    assert server.settings[NAME] == "5"


async def test_a_server_without_locks_is_changed_all_the_same(server: FakeServer, tmp_path: Path) -> None:
    server.has_locks = False
    a = await opened(server, tmp_path)
    await a.change(NAME, "0")
    await a.restore()
    assert server.settings[NAME] == "5"


# Another host, whose locks are not seen here.


def moved_to(path: Path, **there: str) -> None:
    """The journal of a session that ran on another host, or before a boot."""
    first, rest = path.read_bytes().split(b"\n", 1)
    known = msgspec.json.decode(first, type=JournalHeader)
    here = {"host": "far", "boot": "b"} | there
    path.write_bytes(encode_line(msgspec.structs.replace(known, **here)) + rest)


async def restored(server: FakeServer, path: Path) -> list[RestoreResult]:
    journal = Journal.claim(path)
    assert journal is not None
    control = AdminConnection(server.connect)
    with journal:
        found = await restore_settings(control, journal, FakeClock())
    await control.close()
    return found


async def test_a_live_session_of_another_host_is_not_taken_for_dead(
    server: FakeServer, tmp_path: Path
) -> None:
    a = await opened(server, tmp_path)
    await a.change(NAME, "0")
    a.journal._release()  # (no lock of its file is seen here)
    path = a.journal.path
    moved_to(path)
    (found,) = leftovers(path.parent)
    assert found.text.endswith("(session s1 on host far, which may still run)")
    (kept,) = await restored(server, path)
    assert kept.outcome is RestoreOutcome.UNREACHABLE
    assert "session s1 ran on host far, and may still run there" in kept.text
    assert (server.settings[NAME], path.exists()) == ("0", True)
    lost(a)
    (done,) = await restored(server, path)
    assert (done.outcome, server.settings[NAME]) == (RestoreOutcome.RESTORED, "5")
    assert not path.exists()


async def test_a_session_does_not_restore_for_one_on_another_host(server: FakeServer, tmp_path: Path) -> None:
    a, b = await opened(server, tmp_path, "a"), await opened(server, tmp_path, "b")
    await a.change(NAME, "0")
    a.journal._release()
    moved_to(a.journal.path)
    await b.change(NAME, "1")
    (found,) = await b.restore()
    assert found.text == f"{NAME} 1 → 0, as session a has it"


def test_a_journal_without_changes_of_another_host_is_not_removed(tmp_path: Path) -> None:
    """It is about to write its first one."""
    journal = journal_in(tmp_path)
    journal.path.parent.mkdir()
    for there in ({"host": "far"}, {"host": os.uname().nodename, "boot": "earlier"}):
        journal.path.write_bytes(encode_line(msgspec.structs.replace(header(), **there)))
        assert leftovers(journal.path.parent) == []
        assert journal.path.exists()
    journal.path.write_bytes(encode_line(header()))
    assert leftovers(journal.path.parent) == []
    assert not journal.path.exists()


def test_reading_a_half_written_line_of_a_live_session_leaves_it(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    journal.change(NAME, "1", "0", 5.0)
    journal.close()
    moved_to(journal.path)
    with journal.path.open("ab") as file:
        file.write(b'{"type":"cha')
    before = journal.path.read_bytes()
    assert len(leftover_warnings(journal.path.parent)) == 1
    assert read_journal(journal.path) == before


# A server that was started after the change has its own values.


@pytest.mark.parametrize("configured", ["0", "7"])
async def test_the_values_of_a_restarted_server_are_left(
    server: FakeServer, tmp_path: Path, configured: str
) -> None:
    a = await opened(server, tmp_path)
    await a.change(NAME, "0")
    path = died(a)
    server.configured[NAME] = configured
    server.restart()
    (kept,) = await restored(server, path)
    assert kept.outcome is RestoreOutcome.LEFT
    assert kept.text == (
        f"{NAME} is kept at {configured}: the server was started after tuibench set it to 0, and has its own "
        "value now; before tuibench it was 5"
    )
    assert (server.settings[NAME], path.exists()) == (configured, False)


@pytest.mark.parametrize("configured", ["0", "7"])
async def test_they_are_restored_if_that_is_asked(
    server: FakeServer, tmp_path: Path, configured: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = await opened(server, tmp_path)
    await a.change(NAME, "0")
    died(a)
    server.configured[NAME] = configured
    server.restart()
    monkeypatch.setattr(restore, "admin_connector", lambda target: server.connect)
    (left,) = leftovers(a.journal.path.parent)
    assert left.header
    (back,) = await restore_leftover(left, left.header.target, even_restarted=True)
    assert (back.outcome, server.settings[NAME]) == (RestoreOutcome.RESTORED, "5")


async def test_a_value_that_is_the_original_again_is_settled(server: FakeServer, tmp_path: Path) -> None:
    a = await opened(server, tmp_path)
    await a.change(NAME, "0")
    server.restart()
    assert [one.outcome for one in await a.restore()] == [RestoreOutcome.UNCHANGED]


async def test_a_change_after_the_restart_goes_back_to_the_servers_value(
    server: FakeServer, tmp_path: Path
) -> None:
    a = await opened(server, tmp_path)
    await a.change(NAME, "0")
    server.configured[NAME] = "0"
    server.restart()
    await a.change(NAME, "2")
    assert [one.text for one in await a.restore()] == [f"{NAME} 2 → 0, as before"]
    assert not a.journal.path.exists()


async def test_a_change_is_not_repeated_on_a_restarted_server(server: FakeServer, tmp_path: Path) -> None:
    """Its line is about the server that is gone: nothing would restore it."""
    a = await opened(server, tmp_path)
    once = a.control._once

    async def breaks(sql: str, seconds: float | None) -> object:
        if re.match(rf"SET GLOBAL {NAME} = 0", sql) and server.started_at == start:
            server.restart()
            lost(a)
            raise ConnectionLostError(2013, "connection lost")
        return await once(sql, seconds)

    start = server.started_at
    a.control._once = breaks  # type: ignore[method-assign, assignment]
    with pytest.raises(ConnectionLostError, match="restarted meanwhile"):
        await a.change(NAME, "0")
    assert server.settings[NAME] == "5"
    assert [one.outcome for one in await a.restore()] == [RestoreOutcome.UNCHANGED]


async def test_what_the_server_stores_is_restored_after_a_restart(tmp_path: Path) -> None:
    server = FakeServer()
    with journal_in(tmp_path) as journal:
        change = journal.change("innodb_redo_log_enabled", "ON", "OFF", 5.0, server_start=server.started_at)
        journal.applied(change)
    server.status["Innodb_redo_log_enabled"] = server.settings["innodb_redo_log_enabled"] = "OFF"
    server.restart()
    await restored(server, journal.path)
    assert "ALTER INSTANCE ENABLE INNODB REDO_LOG" in server.sent
