"""Putting settings back on a scripted server, and every way it can go wrong."""

import errno
from pathlib import Path

import pytest

from tests.unit.tuning.fakes import DURABLE, FakeClock, FakeServer
from tests.unit.tuning.managers import opened, outcomes
from tuibench.errors import SQLError
from tuibench.tuning.admin_connection import AdminConnection
from tuibench.tuning.undo import durable_file
from tuibench.tuning.undo.journal import Journal
from tuibench.tuning.undo.restore import RestoreOutcome, restore_settings


async def test_a_foreign_change_is_kept_and_reported(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    await tuner.apply("unsafe")
    server.settings["sync_binlog"] = "7"
    restored = await tuner.restore()
    assert outcomes(restored) == {
        "innodb_flush_log_at_trx_commit": RestoreOutcome.RESTORED,
        "sync_binlog": RestoreOutcome.LEFT,
    }
    assert "kept at 7" in restored[1].text
    assert server.settings["sync_binlog"] == "7"
    assert not tuner.journal.path.exists()


async def test_a_value_that_was_set_back_before_is_said_to_be_as_before(tmp_path: Path) -> None:
    """An A/B test of the configured value and another one may end with either."""
    server = FakeServer(long_query_time="10.000000")
    tuner = await opened(server, tmp_path)
    await tuner.change("long_query_time", "0.5")
    await tuner.change("long_query_time", "10")
    (restored,) = await tuner.restore()
    assert restored.outcome is RestoreOutcome.UNCHANGED
    assert restored.text == "long_query_time is 10.000000, as before"
    assert not tuner.journal.path.exists()


async def test_a_restarted_server_needs_nothing(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    await tuner.apply("unsafe")
    server.settings.update(sync_binlog="1", innodb_flush_log_at_trx_commit="1")
    server.breaks = 1
    assert set(outcomes(await tuner.restore()).values()) == {RestoreOutcome.UNCHANGED}


async def test_another_server_at_the_same_place_is_not_touched(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    await tuner.change("sync_binlog", "0")
    server.identity["datadir"] = "/elsewhere/"
    server.sent.clear()
    restored = await tuner.restore()
    assert outcomes(restored) == {"sync_binlog": RestoreOutcome.REFUSED}
    assert "another server" in restored[0].text
    assert not any(sql.startswith("SET") for sql in server.sent)
    await tuner.close()
    successor = Journal.claim(tuner.journal.path)
    assert successor
    assert successor.ledger.original("sync_binlog") == "1"
    successor.close()


async def test_a_refused_restore_stays_pending(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    await tuner.apply("unsafe")

    def refuse(name: str, _: str) -> None:
        if name == "sync_binlog":
            server.settings[name] = "0"
            raise SQLError(1227, "Access denied")

    server.on_set = refuse
    restored = await tuner.restore()
    assert outcomes(restored) == {
        "innodb_flush_log_at_trx_commit": RestoreOutcome.RESTORED,
        "sync_binlog": RestoreOutcome.REFUSED,
    }
    assert "Access denied (error 1227)" in restored[1].text
    assert tuner.journal.ledger.open_settings == ("sync_binlog",)


async def test_a_full_disk_keeps_no_setting_from_going_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be crossed off stays in the journal, and the next restore finds it as it should be."""
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    await tuner.apply("unsafe")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(durable_file, "append", refuse)
        restored = await tuner.restore()
        await tuner.close()
    assert server.settings == DURABLE
    assert set(outcomes(restored).values()) == {RestoreOutcome.RESTORED}
    assert all("stays in the journal" in one.text and "No space left" in one.text for one in restored)
    journal = Journal.claim(tuner.journal.path)
    assert journal is not None
    again = await restore_settings(AdminConnection(server.connect), journal, FakeClock())
    assert set(outcomes(again).values()) == {RestoreOutcome.UNCHANGED}
    assert not tuner.journal.path.exists()


async def test_a_full_server_counts_as_away(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    await tuner.change("sync_binlog", "0")
    server.breaks = 1
    server.refuses_login = SQLError(1040, "Too many connections")
    assert outcomes(await tuner.restore()) == {"sync_binlog": RestoreOutcome.UNREACHABLE}
