"""Changing and restoring on a scripted server: the order of things, and every way it can go wrong."""

import errno
from pathlib import Path

import msgspec
import pytest

from tests.unit.tuning.fakes import DURABLE, INFO, FakeClock, FakeServer, journal_in
from tuibench.errors import ConnectionLostError, SQLError, TuibenchError, UsageError
from tuibench.model.server import Flavour
from tuibench.tuning import disk, records
from tuibench.tuning.control import Control
from tuibench.tuning.journal import Journal
from tuibench.tuning.tuner import Tuner
from tuibench.tuning.undo import Outcome, Restored, undo
from tuibench.tuning.workload import Workload

UNSAFE = {"innodb_flush_log_at_trx_commit": "0", "sync_binlog": "0", "innodb_flush_log_at_timeout": "1"}


async def opened(server: FakeServer, folder: Path, **options: object) -> Tuner:
    tuner = Tuner(server.connect, journal_in(folder), INFO, clock=FakeClock(), **options)  # type: ignore[arg-type]
    await tuner.open()
    return tuner


def outcomes(restored: list[Restored]) -> dict[str, Outcome]:
    return {one.setting: one.outcome for one in restored}


async def test_a_change_is_on_disk_before_the_server_hears_of_it(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    seen: list[bytes] = []
    server.on_set = lambda *_: seen.append(tuner.journal.path.read_bytes())
    state = await tuner.change("sync_binlog", "0")
    entries = records.decode(seen[0], "j").entries
    assert [(entry.old, entry.new) for entry in entries if isinstance(entry, records.Change)] == [("1", "0")]
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


def changed_by(tuner: Tuner) -> dict[str, str]:
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


async def test_a_foreign_change_is_left_and_told(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    await tuner.apply("unsafe")
    server.settings["sync_binlog"] = "7"
    restored = await tuner.restore()
    assert outcomes(restored) == {
        "innodb_flush_log_at_trx_commit": Outcome.RESTORED,
        "sync_binlog": Outcome.LEFT,
    }
    assert "left at 7" in restored[1].text
    assert server.settings["sync_binlog"] == "7"
    assert not tuner.journal.path.exists()


async def test_a_restarted_server_needs_nothing(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    await tuner.apply("unsafe")
    server.settings.update(sync_binlog="1", innodb_flush_log_at_trx_commit="1")
    server.breaks = 1
    assert set(outcomes(await tuner.restore()).values()) == {Outcome.UNCHANGED}


async def test_a_refusal_is_told_in_words_and_closed_in_the_journal(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    await tuner.change("innodb_flush_log_at_trx_commit", "2")

    def refuse(name: str, _: str) -> None:
        server.settings[name] = "1"
        raise SQLError(1227, "Access denied")

    server.on_set = refuse
    with pytest.raises(SQLError, match=r"this login may not change sync_binlog \(error 1227\)") as caught:
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
    with pytest.raises(SQLError, match=r"sync_binlog is read only.*; innodb_flush_log_at_trx_commit is 0"):
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
    assert outcomes(restored) == {"sync_binlog": Outcome.UNREACHABLE}
    assert restored[0].pending
    assert tuner.journal.path.exists()
    server.away, server.on_set = False, None
    assert outcomes(await tuner.restore()) == {"sync_binlog": Outcome.RESTORED}
    assert server.settings["sync_binlog"] == "1"


async def test_a_value_that_the_server_rounds_is_an_error_and_put_back(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    server.on_set = lambda name, value: server.settings.update({name: "50" if value == "100" else value})
    with pytest.raises(TuibenchError, match="set to 100, the server took it, and it is 50 now"):
        await tuner.change("sync_binlog", "100")
    assert outcomes(await tuner.restore()) == {"sync_binlog": Outcome.RESTORED}
    assert server.settings["sync_binlog"] == "1"


async def test_a_change_without_effect_is_an_error_and_closed(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    server.on_set = lambda name, _: server.settings.update({name: "1"})
    with pytest.raises(TuibenchError, match="it is 1 as before"):
        await tuner.change("sync_binlog", "100")
    assert not tuner.journal.path.exists()


async def test_an_unavailable_setting_is_refused_with_its_reason(tmp_path: Path) -> None:
    server = FakeServer()
    server.grants = ["GRANT BINLOG ADMIN ON *.* TO `u`@`%`"]
    tuner = await opened(server, tmp_path)
    reasons = {state.name: state.unavailable for state in tuner.known}
    assert reasons["sync_binlog"] == ""
    with pytest.raises(UsageError, match="cannot be changed here: this login may not"):
        await tuner.apply("unsafe")
    assert server.settings["sync_binlog"] == "1"


async def test_another_server_at_the_same_place_is_not_touched(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    await tuner.change("sync_binlog", "0")
    server.identity["datadir"] = "/elsewhere/"
    server.sent.clear()
    restored = await tuner.restore()
    assert outcomes(restored) == {"sync_binlog": Outcome.REFUSED}
    assert "another server" in restored[0].text
    assert not any(sql.startswith("SET") for sql in server.sent)
    await tuner.close()
    heir = Journal.claim(tuner.journal.path)
    assert heir
    assert heir.ledger.original("sync_binlog") == "1"
    heir.close()


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
        "innodb_flush_log_at_trx_commit": Outcome.RESTORED,
        "sync_binlog": Outcome.REFUSED,
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
        full.setattr(disk, "append", refuse)
        restored = await tuner.restore()
        await tuner.close()
    assert server.settings == DURABLE
    assert set(outcomes(restored).values()) == {Outcome.RESTORED}
    assert all("stays in the journal" in one.text and "No space left" in one.text for one in restored)
    journal = Journal.claim(tuner.journal.path)
    assert journal is not None
    again = await undo(Control(server.connect), journal, FakeClock())
    assert set(outcomes(again).values()) == {Outcome.UNCHANGED}
    assert not tuner.journal.path.exists()


async def test_a_full_server_counts_as_away(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    await tuner.change("sync_binlog", "0")
    server.breaks = 1
    server.refuses_login = SQLError(1040, "Too many connections")
    assert outcomes(await tuner.restore()) == {"sync_binlog": Outcome.UNREACHABLE}


POOL = "innodb_buffer_pool_size"
MIB = 2**20


async def test_a_size_that_the_server_rounds_is_told_and_put_back(tmp_path: Path) -> None:
    server = FakeServer(**{POOL: str(256 * MIB)})
    tuner = await opened(server, tmp_path)
    server.on_set = lambda name, value: server.settings.update({name: str(-(-int(value) // MIB) * MIB)})
    state = await tuner.change(POOL, "300000000")
    assert state.value == str(287 * MIB)
    assert tuner.rounding(POOL, "300000000", state.value).startswith("asked for 286 MiB: it is rounded")
    assert tuner.rounding(POOL, "287M", state.value) == ""
    server.on_set = None
    assert outcomes(await tuner.restore()) == {POOL: Outcome.RESTORED}
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


async def test_the_workloads_own_settings_never_reach_the_server(tmp_path: Path) -> None:
    server, told = FakeServer(), list[tuple[str, ...]]()
    workload = Workload()
    workload.tell = told.append
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
    workload = Workload({"transaction_isolation": "SERIALIZABLE"})
    tuner = await opened(FakeServer(), tmp_path, workload=workload)
    state = await tuner.change("transaction_isolation", "READ-COMMITTED")
    assert state.original == "SERIALIZABLE"


async def test_a_refusal_for_the_workload_never_reaches_its_connections(tmp_path: Path) -> None:
    server, told = FakeServer(), list[tuple[str, ...]]()
    workload = Workload()
    workload.tell = told.append
    tuner = await opened(server, tmp_path, workload=workload)
    server.refuses_session = SQLError(1227, "Access denied")
    with pytest.raises(SQLError, match="this login may not change sql_log_bin"):
        await tuner.change("sql_log_bin", "OFF")
    assert told == []
    assert {state.name: state.value for state in tuner.known}["sql_log_bin"] == "ON"


async def test_the_workloads_copies_follow_the_server(tmp_path: Path) -> None:
    server, told = FakeServer(innodb_lock_wait_timeout="50"), list[tuple[str, ...]]()
    workload = Workload()
    workload.tell = told.append
    tuner = await opened(server, tmp_path, workload=workload)
    await tuner.change("innodb_lock_wait_timeout", "5")
    assert told == [("SET SESSION innodb_lock_wait_timeout = 5",)]
    assert outcomes(await tuner.restore()) == {"innodb_lock_wait_timeout": Outcome.RESTORED}
    assert told[-1] == ("SET SESSION innodb_lock_wait_timeout = 50",)


async def test_redo_logging_is_switched_with_its_own_statement(tmp_path: Path) -> None:
    server = FakeServer()
    server.status = {"Innodb_redo_log_enabled": "ON"}
    info = msgspec.structs.replace(INFO, flavour=Flavour.MYSQL, version="9.7.4")
    tuner = Tuner(server.connect, journal_in(tmp_path), info, clock=FakeClock())
    await tuner.open()
    state = await tuner.change("innodb_redo_log", "off")
    assert (state.value, state.at_risk) == ("OFF", True)
    assert server.sent.count("ALTER INSTANCE DISABLE INNODB REDO_LOG") == 1
    await tuner.restore()
    assert server.status == {"Innodb_redo_log_enabled": "ON"}
