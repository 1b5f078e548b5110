"""Changing settings on a scripted server: the order of things, whose a value is, and refusals."""

from pathlib import Path

import msgspec
import pytest

from tests.unit.tuning.fakes import DURABLE, INFO, FakeClock, FakeServer, journal_in
from tests.unit.tuning.managers import UNSAFE, opened, outcomes
from tuibench.errors import ConnectionLostError, SQLError, TuibenchError, UsageError
from tuibench.model.server import Flavour
from tuibench.tuning.catalogue.access import WITHOUT_EFFECT
from tuibench.tuning.change.settings_manager import SettingsManager
from tuibench.tuning.undo import journal_entries
from tuibench.tuning.undo.restore import RestoreOutcome


async def test_a_change_is_on_disk_before_the_server_hears_of_it(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    seen: list[bytes] = []
    server.on_set = lambda *_: seen.append(tuner.journal.path.read_bytes())
    state = await tuner.change("sync_binlog", "0")
    entries = journal_entries.decode_journal(seen[0], "j").entries
    assert [
        (entry.old, entry.new) for entry in entries if isinstance(entry, journal_entries.SettingChange)
    ] == [("1", "0")]
    assert (state.value, state.original, state.changed, state.at_risk) == ("0", "1", True, True)
    await tuner.close()


async def test_the_guard_comes_before_each_change_and_can_forbid_it(tmp_path: Path) -> None:
    server = FakeServer()

    async def nobody() -> None:
        raise TuibenchError("no guardian")

    tuner = await opened(server, tmp_path, guard=nobody)
    with pytest.raises(TuibenchError, match="no guardian"):
        await tuner.change("sync_binlog", "0")
    assert server.settings["sync_binlog"] == "1"
    assert not tuner.journal.path.exists()


async def test_presets_and_the_way_back(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    await tuner.apply("relaxed")
    states = await tuner.apply("unsafe")
    assert [(state.value, state.original) for state in states] == [("0", "1"), ("0", "1")]
    assert server.settings == UNSAFE
    restored = await tuner.restore()
    assert [one.text for one in restored] == [
        "innodb_flush_log_at_trx_commit 0 → 1, as before",
        "sync_binlog 0 → 1, as before",
    ]
    assert not any(state.changed for state in tuner.known)
    assert not tuner.journal.path.exists()
    assert await tuner.restore() == []


async def test_one_setting_goes_back_by_itself_and_can_be_changed_again(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    await tuner.apply("unsafe")
    restored = await tuner.restore(["sync_binlog"])
    assert [one.text for one in restored] == ["sync_binlog 0 → 1, as before"]
    assert server.settings == UNSAFE | {"sync_binlog": "1"}
    assert tuner.journal.ledger.open_settings == ("innodb_flush_log_at_trx_commit",)
    await tuner.change("sync_binlog", "100")
    assert [one.setting for one in await tuner.restore()] == ["innodb_flush_log_at_trx_commit", "sync_binlog"]
    await tuner.change("sync_binlog", "0")
    await tuner.restore()
    assert server.settings == DURABLE
    assert not tuner.journal.path.exists()


async def test_it_is_known_whose_a_value_is(tmp_path: Path) -> None:
    server = FakeServer(max_connections="151")
    tuner = await opened(server, tmp_path)
    assert changed_by(tuner) == {}
    await tuner.change("sync_binlog", "0")
    await tuner.change("sql_log_bin", "off")
    assert changed_by(tuner) == {"sync_binlog": "us", "sql_log_bin": "us"}
    server.settings |= {"sync_binlog": "7", "max_connections": "99"}
    states = {state.name: state for state in await tuner.states()}
    assert changed_by(tuner) == {"sync_binlog": "others", "max_connections": "others", "sql_log_bin": "us"}
    assert (states["max_connections"].began, states["max_connections"].original) == ("151", "99")
    server.settings |= {"sync_binlog": "1", "max_connections": "151"}
    await tuner.states()
    assert changed_by(tuner) == {"sql_log_bin": "us"}
    await tuner.restore(["sql_log_bin"])
    assert changed_by(tuner) == {}


def changed_by(tuner: SettingsManager) -> dict[str, str]:
    return {state.name: state.changed_by for state in tuner.known if state.changed_by}


async def test_setting_the_value_that_is_there_asks_nothing_of_the_server(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    await tuner.change("sync_binlog", "1")
    assert not any(sql.startswith("SET") for sql in server.sent)
    assert not tuner.journal.path.exists()


async def test_statements_are_counted_over_reconnects(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    server.breaks = 1
    await tuner.states()
    await tuner.change("sync_binlog", "0")
    await tuner.restore()
    await tuner.close()
    assert tuner.own_statements == len(server.sent)


async def test_a_refusal_is_reported_and_settled_in_the_journal(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    await tuner.change("innodb_flush_log_at_trx_commit", "2")

    def refuse(name: str, _: str) -> None:
        server.settings[name] = "1"
        raise SQLError(1227, "Access denied")

    server.on_set = refuse
    with pytest.raises(SQLError, match=r"this login cannot change sync_binlog \(error 1227\)") as caught:
        await tuner.change("sync_binlog", "0")
    assert "BINLOG ADMIN or SUPER" in caught.value.hint
    assert tuner.journal.ledger.open_settings == ("innodb_flush_log_at_trx_commit",)


async def test_half_a_preset_is_said(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)

    def refuse(name: str, _: str) -> None:
        if name == "sync_binlog":
            raise SQLError(1238, "read only")

    server.on_set = refuse
    with pytest.raises(SQLError, match=r"sync_binlog is read-only.*; innodb_flush_log_at_trx_commit is 0"):
        await tuner.apply("unsafe")


async def test_a_connection_lost_in_a_change_leaves_it_open(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)

    def die(_: str, __: str) -> None:
        server.away = True
        raise ConnectionLostError(2013, "gone")

    server.on_set = die
    with pytest.raises(TuibenchError, match="cannot reach"):
        await tuner.change("sync_binlog", "0")
    restored = await tuner.restore()
    assert outcomes(restored) == {"sync_binlog": RestoreOutcome.UNREACHABLE}
    assert restored[0].pending
    assert tuner.journal.path.exists()
    server.away, server.on_set = False, None
    assert outcomes(await tuner.restore()) == {"sync_binlog": RestoreOutcome.RESTORED}
    assert server.settings["sync_binlog"] == "1"


async def test_an_unavailable_setting_is_refused_with_its_reason(tmp_path: Path) -> None:
    server = FakeServer()
    server.grants = ["GRANT BINLOG ADMIN ON *.* TO `u`@`%`"]
    tuner = await opened(server, tmp_path)
    reasons = {state.name: state.unavailable for state in tuner.known}
    assert reasons["sync_binlog"] == ""
    with pytest.raises(UsageError, match="cannot be changed here: this login cannot"):
        await tuner.apply("unsafe")
    assert server.settings["sync_binlog"] == "1"


async def test_redo_logging_is_switched_with_its_own_statement(tmp_path: Path) -> None:
    server = FakeServer()
    server.status |= {"Innodb_redo_log_enabled": "ON"}
    info = msgspec.structs.replace(INFO, flavour=Flavour.MYSQL, version="9.7.4")
    tuner = SettingsManager(server.connect, journal_in(tmp_path), info, clock=FakeClock())
    await tuner.open()
    state = await tuner.change("innodb_redo_log", "off")
    assert (state.value, state.at_risk) == ("OFF", True)
    assert server.sent.count("ALTER INSTANCE DISABLE INNODB REDO_LOG") == 1
    await tuner.restore()
    assert server.status["Innodb_redo_log_enabled"] == "ON"


@pytest.mark.parametrize("status", [{}, {"Innodb_page_size": "0", "Innodb_redo_log_enabled": "OFF"}])
async def test_a_server_without_innodb_has_its_variables_without_effect(
    status: dict[str, str], tmp_path: Path
) -> None:
    server = FakeServer(max_connections="100", innodb_buffer_pool_size="134217728")
    server.status = status
    tuner = await opened(server, tmp_path)
    states = {state.name: state for state in tuner.known}
    for name in ("innodb_flush_log_at_trx_commit", "sync_binlog", "innodb_buffer_pool_size"):
        assert (states[name].value, states[name].original, states[name].at_risk) == ("", "", False)
        assert states[name].unavailable == WITHOUT_EFFECT
    assert states["transaction_isolation"].unavailable == ""
    with pytest.raises(UsageError, match="no InnoDB"):
        await tuner.apply("unsafe")
    with pytest.raises(UsageError, match="no InnoDB"):
        await tuner.change("sync_binlog", "0")
    assert not any(sql.startswith("SET GLOBAL") for sql in server.sent)
    await tuner.close()


async def test_a_size_that_the_server_would_not_take_back_is_not_changed(tmp_path: Path) -> None:
    """The server was started with it, and has a higher limit now."""
    server = FakeServer(innodb_log_file_size="8388608")
    tuner = await opened(server, tmp_path)

    def refuse(name: str, value: str) -> None:
        if int(value) < 16777216:
            raise SQLError(1210, "innodb_log_file_size must be at least innodb_log_buffer_size=16777216")

    server.on_set = refuse
    with pytest.raises(
        UsageError, match=r"is 8388608, and the server would not accept that value again: .*at least"
    ):
        await tuner.change("innodb_log_file_size", "1G")
    assert server.settings["innodb_log_file_size"] == "8388608"
    assert not tuner.journal.path.exists()
    server.settings["innodb_log_file_size"] = "33554432"
    assert (await tuner.change("innodb_log_file_size", "1G")).value == str(2**30)
    await tuner.restore()
    assert server.settings["innodb_log_file_size"] == "33554432"
