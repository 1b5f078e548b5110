"""Changing and restoring on a scripted server: the order of things, and every way it can go wrong."""

from pathlib import Path

import pytest

from tests.unit.tuning.fakes import INFO, FakeClock, FakeServer, journal_in
from tuibench.errors import ConnectionLostError, SQLError, TuibenchError, UsageError
from tuibench.tuning import records
from tuibench.tuning.journal import Journal
from tuibench.tuning.tuner import Tuner
from tuibench.tuning.undo import Outcome, Restored

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
    _, entries = records.decode(seen[0], "j")
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


async def test_a_full_server_counts_as_away(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    await tuner.change("sync_binlog", "0")
    server.breaks = 1
    server.refuses_login = SQLError(1040, "Too many connections")
    assert outcomes(await tuner.restore()) == {"sync_binlog": Outcome.UNREACHABLE}
