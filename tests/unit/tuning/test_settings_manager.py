"""The manager of settings: changes, values, restoring, consent."""

import asyncio
import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import msgspec
import pytest

from tests.unit.tuning.fakes import DURABLE, INFO, FakeClock, FakeConnection, FakeServer, journal_in
from tuibench.base.errors import ConnectionLostError, SQLError, TuibenchError, UsageError
from tuibench.model.server import Flavour, Target
from tuibench.mysql.connection import Connection, OwnConnections
from tuibench.mysql.rows import Row
from tuibench.tuning import journal
from tuibench.tuning import journal as durable_file
from tuibench.tuning.catalogue import WITHOUT_EFFECT
from tuibench.tuning.changer import (
    CONSENT_OPTION,
    ConsentRecord,
    ProductionConsent,
    ProductionError,
    SettingsManager,
    WorkloadSettings,
)
from tuibench.tuning.connection import AdminConnection
from tuibench.tuning.journal import Journal
from tuibench.tuning.restore import RestoreOutcome, RestoreResult, restore_settings

UNSAFE = {"innodb_flush_log_at_trx_commit": "0", "sync_binlog": "0", "innodb_flush_log_at_timeout": "1"}


async def opened(server: FakeServer, folder: Path, **options: object) -> SettingsManager:
    tuner = SettingsManager(server.connect, journal_in(folder), INFO, clock=FakeClock(), **options)  # type: ignore[arg-type]
    await tuner.open()
    return tuner


def outcomes(restored: list[RestoreResult]) -> dict[str, RestoreOutcome]:
    return {one.setting: one.outcome for one in restored}


# Changing settings on a scripted server: the order of things, whose a value is, and refusals.


async def test_a_change_is_on_disk_before_the_server_hears_of_it(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    seen: list[bytes] = []
    server.on_set = lambda *_: seen.append(tuner.journal.path.read_bytes())
    state = await tuner.change("sync_binlog", "0")
    _, entries, _ = journal.decode_journal(seen[0], "j")
    assert [(entry.old, entry.new) for entry in entries if isinstance(entry, journal.SettingChange)] == [
        ("1", "0")
    ]
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


async def test_what_is_kept_is_not_restored_any_more(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    await tuner.apply("unsafe")
    (((was, now)),) = await tuner.keep_values(["sync_binlog"])
    assert (was.value, was.original, now.value, now.original, now.changed_by) == ("0", "1", "0", "0", "")
    assert tuner.journal.ledger.open_settings == ("innodb_flush_log_at_trx_commit",)
    assert changed_by(tuner) == {"innodb_flush_log_at_trx_commit": "us"}
    assert [one.setting for one in await tuner.restore()] == ["innodb_flush_log_at_trx_commit"]
    assert server.settings == UNSAFE | {"innodb_flush_log_at_trx_commit": "1"}
    assert not tuner.journal.path.exists()
    await tuner.change("sync_binlog", "100")
    assert [one.text for one in await tuner.restore()] == ["sync_binlog 100 → 0, as before"], "the kept value"
    await tuner.close()


@pytest.mark.parametrize(
    ("theirs", "names", "why"),
    [
        ("7", (), "sync_binlog is 7, and this session set it to 0: another client or a restart has changed"),
        ("1", ("sync_binlog",), "sync_binlog is 1, as before: there is nothing to keep"),
        ("0", ("max_connections",), "max_connections: not changed by this session"),
    ],
)
async def test_only_values_of_this_session_are_kept(
    tmp_path: Path, theirs: str, names: tuple[str, ...], why: str
) -> None:
    server = FakeServer(max_connections="151")
    tuner = await opened(server, tmp_path)
    with pytest.raises(UsageError, match="has changed no setting of the server"):
        await tuner.keep_values()
    await tuner.change("sync_binlog", "0")
    server.settings["sync_binlog"] = theirs
    with pytest.raises(UsageError, match=why):
        await tuner.keep_values(names)
    assert tuner.journal.ledger.open_settings == ("sync_binlog",), "the journal is as before"
    await tuner.close()


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
    server, own = FakeServer(), OwnConnections()
    tuner = await opened(server, tmp_path, own=own)
    server.breaks = 1
    await tuner.states()
    await tuner.change("sync_binlog", "0")
    await tuner.restore()
    await tuner.close()
    assert own.statements == len(server.sent)


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


# Values that the server rounds, ignores, is slow to take or holds against another setting.


async def test_a_value_that_the_server_rounds_is_an_error_and_put_back(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    server.on_set = lambda name, value: server.settings.update({name: "50" if value == "100" else value})
    with pytest.raises(TuibenchError, match="set to 100 without an error, and it is 50 now"):
        await tuner.change("sync_binlog", "100")
    assert outcomes(await tuner.restore()) == {"sync_binlog": RestoreOutcome.RESTORED}
    assert server.settings["sync_binlog"] == "1"


async def test_a_change_without_effect_is_an_error_and_closed(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    server.on_set = lambda name, _: server.settings.update({name: "1"})
    with pytest.raises(TuibenchError, match="it is 1 as before"):
        await tuner.change("sync_binlog", "100")
    assert not tuner.journal.path.exists()


POOL = "innodb_buffer_pool_size"
MIB = 2**20


async def test_a_size_rounded_by_the_server_is_reported_and_restored(tmp_path: Path) -> None:
    server = FakeServer(**{POOL: str(256 * MIB)})
    tuner = await opened(server, tmp_path)
    server.on_set = lambda name, value: server.settings.update({name: str(-(-int(value) // MIB) * MIB)})
    state = await tuner.change(POOL, "300000000")
    assert state.value == str(287 * MIB)
    assert tuner.rounding(POOL, "300000000", state.value).startswith("requested 286 MiB: it is rounded")
    assert tuner.rounding(POOL, "287M", state.value) == ""
    server.on_set = None
    assert outcomes(await tuner.restore()) == {POOL: RestoreOutcome.RESTORED}
    assert server.settings[POOL] == str(256 * MIB)


async def test_a_server_that_is_still_busy_with_the_change_before_is_asked_again(tmp_path: Path) -> None:
    server = FakeServer(**{POOL: str(256 * MIB)})
    tuner = await opened(server, tmp_path)
    busy = [True, True, False]

    def ignore(name: str, value: str) -> None:
        server.settings[name] = str(256 * MIB) if busy.pop(0) else value

    server.on_set = ignore
    assert (await tuner.change(POOL, "512M")).value == str(512 * MIB)
    assert busy == []


async def test_a_limit_between_two_settings_is_kept(tmp_path: Path) -> None:
    server = FakeServer(innodb_io_capacity="200", innodb_io_capacity_max="2000")
    tuner = await opened(server, tmp_path)
    with pytest.raises(UsageError, match="may not be above innodb_io_capacity_max, which is 2000"):
        await tuner.change("innodb_io_capacity", "5000")
    assert not any(sql.startswith("SET") for sql in server.sent)
    await tuner.change("innodb_io_capacity_max", "8000")
    assert (await tuner.change("innodb_io_capacity", "5000")).value == "5000"


# Putting settings back on a scripted server, and every way it can go wrong.


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


# Settings that only the workload's own connections have.


async def test_the_workloads_own_settings_never_reach_the_server(tmp_path: Path) -> None:
    server, told = FakeServer(), list[tuple[str, ...]]()
    workload = WorkloadSettings()
    workload.run = told.append
    tuner = await opened(server, tmp_path, workload=workload)
    server.sent.clear()
    state = await tuner.change("sql_log_bin", "off")
    assert (state.value, state.original, state.at_risk, state.scope) == ("OFF", "ON", True, "workload")
    await tuner.change("transaction_isolation", "read committed")
    assert told[-1] == (
        "SET SESSION sql_log_bin = 'OFF'",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    )
    assert server.sent[:2] == ["SET SESSION sql_log_bin = 'OFF'", "SET SESSION sql_log_bin = 'ON'"]
    assert not any("GLOBAL" in sql for sql in server.sent)
    assert not tuner.journal.path.exists()
    assert [one.text for one in await tuner.restore()] == [
        "sql_log_bin OFF → ON for the workload, as before",
        "transaction_isolation READ-COMMITTED → REPEATABLE-READ for the workload, as before",
    ]
    assert told[-1] == (
        "SET SESSION sql_log_bin = 'ON'",
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    )
    assert await tuner.restore() == []


async def test_what_the_logins_set_is_what_the_workload_goes_back_to(tmp_path: Path) -> None:
    workload = WorkloadSettings({"transaction_isolation": "SERIALIZABLE"})
    tuner = await opened(FakeServer(), tmp_path, workload=workload)
    state = await tuner.change("transaction_isolation", "READ-COMMITTED")
    assert state.original == "SERIALIZABLE"


async def test_a_refusal_for_the_workload_never_reaches_its_connections(tmp_path: Path) -> None:
    server, told = FakeServer(), list[tuple[str, ...]]()
    workload = WorkloadSettings()
    workload.run = told.append
    tuner = await opened(server, tmp_path, workload=workload)
    server.refuses_session = SQLError(1227, "Access denied")
    with pytest.raises(SQLError, match="this login cannot change sql_log_bin"):
        await tuner.change("sql_log_bin", "OFF")
    assert told == []
    assert {state.name: state.value for state in tuner.known}["sql_log_bin"] == "ON"


async def test_the_workloads_copies_follow_the_server(tmp_path: Path) -> None:
    server, told = FakeServer(innodb_lock_wait_timeout="50"), list[tuple[str, ...]]()
    workload = WorkloadSettings()
    workload.run = told.append
    tuner = await opened(server, tmp_path, workload=workload)
    await tuner.change("innodb_lock_wait_timeout", "5")
    assert told == [("SET SESSION innodb_lock_wait_timeout = 5",)]
    assert outcomes(await tuner.restore()) == {"innodb_lock_wait_timeout": RestoreOutcome.RESTORED}
    assert told[-1] == ("SET SESSION innodb_lock_wait_timeout = 50",)


# A yes is remembered for its server, and for no other.


YES = ConsentRecord(identity="box:3306:/data/", at=1.0, signs=("a replica",))


def test_a_yes_is_remembered_privately(tmp_path: Path) -> None:
    path = tmp_path / "state" / "servers.jsonl"
    assert not ProductionConsent(path).is_given(YES.identity)
    ProductionConsent(path).give(YES)
    assert ProductionConsent(path).is_given(YES.identity)
    assert not ProductionConsent(path).is_given("box:3307:/data/")
    assert path.stat().st_mode & 0o777 == 0o600


def test_consents_in_a_pipe_are_none_and_cannot_be_given(tmp_path: Path) -> None:
    """It is not waited for."""
    os.mkfifo(path := tmp_path / "servers.jsonl")
    assert not ProductionConsent(path).is_given(YES.identity)
    with pytest.raises(TuibenchError, match="cannot store the consent"):
        ProductionConsent(path).give(YES)


def test_a_broken_line_counts_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "servers.jsonl"
    path.write_bytes(b'{"identity":"other"\n\xff\xfe\n')
    ProductionConsent(path).give(YES)
    assert ProductionConsent(path).is_given(YES.identity)
    assert not ProductionConsent(path).is_given("other")


def test_an_unwritable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TuibenchError, match="cannot store the consent"):
        ProductionConsent(tmp_path / "file" / "servers.jsonl").give(YES)


def test_the_refusal_says_what_was_seen_and_what_to_do() -> None:
    error = ProductionError("db1:3306", ("2 replicas attached", "others at work"))
    assert "db1:3306 looks like a production server: 2 replicas attached; others at work" in error.message
    assert CONSENT_OPTION in error.hint


# The control connection when answers stay away: what was cut short is not used again.


class Silent(FakeConnection):
    """Never answers."""

    def __init__(self, server: FakeServer) -> None:
        super().__init__(server)
        self.asked = asyncio.Event()
        self.aborted = False

    async def query(self, sql: str) -> Sequence[Row]:
        self.statements += 1
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError(sql)

    def abort(self) -> None:
        self.aborted = True


def falling_silent(silent: Silent, server: FakeServer, own: OwnConnections | None = None) -> AdminConnection:
    """Its first connection is silent, the next one is not."""
    connections = iter([silent, FakeConnection(server)])

    async def connect() -> Connection:
        return cast("Connection", next(connections))

    return AdminConnection(connect, own)


async def test_a_statement_cut_short_costs_the_connection_and_stays_counted() -> None:
    server, own = FakeServer(), OwnConnections()
    silent = Silent(server)
    control = falling_silent(silent, server, own)
    asking = asyncio.create_task(control.values(["sync_binlog"]))
    await silent.asked.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert silent.aborted
    assert await control.values(["sync_binlog"]) == {"sync_binlog": "1"}
    assert own.statements == 2


async def test_a_silent_server_counts_as_away() -> None:
    silent = Silent(FakeServer())
    silent.target = Target(query_timeout=0.0)
    control = falling_silent(silent, FakeServer())
    with pytest.raises(ConnectionLostError, match="no answer from the server"):
        await control.values(["sync_binlog"])
    assert silent.aborted


async def test_no_name_smuggles_sql() -> None:
    server = FakeServer()
    with pytest.raises(UsageError):
        await AdminConnection(server.connect).set_global("x = 1; DROP", "0")
    with pytest.raises(UsageError):
        await AdminConnection(server.connect).values(["x') OR ('1"])
    assert server.sent == []


async def test_words_are_quoted_and_numbers_are_not() -> None:
    server = FakeServer()
    control = AdminConnection(server.connect)
    await control.set_global("sync_binlog", "5")
    await control.set_global("sync_binlog", "ON")
    assert server.sent == ["SET GLOBAL sync_binlog = 5", "SET GLOBAL sync_binlog = 'ON'"]
