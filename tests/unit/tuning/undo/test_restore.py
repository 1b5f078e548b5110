"""Trying again while the server is away: bounded, told, and said in SQL what is left to do."""

from functools import partial
from pathlib import Path

from tests.unit.tuning.fakes import FakeClock, FakeServer, journal_in
from tuibench.tuning.admin_connection import AdminConnection
from tuibench.tuning.undo.restore import RestoreOutcome, restore_settings, restore_with_retries


async def tried(
    server: FakeServer, folder: Path, clock: FakeClock
) -> tuple[list[RestoreOutcome], str, list[str]]:
    """How it ended, the last word, and what was told meanwhile."""
    told: list[str] = []
    with journal_in(folder) as journal:
        journal.change("sync_binlog", "1", "0", 5.0)
        server.settings["sync_binlog"] = "0"
        attempt = partial(restore_settings, AdminConnection(server.connect), journal, clock)
        restored = await restore_with_retries(attempt, clock, 30.0, told.append)
    return [one.outcome for one in restored], restored[-1].text, told


async def test_restore_waits_for_the_server_and_reports_its_return(tmp_path: Path) -> None:
    server, clock = FakeServer(), FakeClock()
    server.away = True

    def wake() -> None:
        server.away = clock.seconds < 12

    clock.at_sleep = wake
    outcomes, text, told = await tried(server, tmp_path, clock)
    assert (outcomes, text) == ([RestoreOutcome.RESTORED], "sync_binlog 0 → 1, as before")
    assert 12 <= clock.seconds < 18
    assert told[0] == "sync_binlog: not restored yet, retrying for 30 s"
    assert 2 <= len(told) <= 4


async def test_patience_ends_with_what_to_do_by_hand(tmp_path: Path) -> None:
    server, clock = FakeServer(), FakeClock()
    server.away = True
    outcomes, text, told = await tried(server, tmp_path, clock)
    assert outcomes == [RestoreOutcome.UNREACHABLE]
    assert text == (
        "sync_binlog could not be restored to 1: cannot reach a server; manually: SET GLOBAL sync_binlog = 1"
    )
    assert 24 <= clock.seconds <= 30
    assert told


async def test_a_server_that_is_there_is_asked_once(tmp_path: Path) -> None:
    clock = FakeClock()
    outcomes, _, told = await tried(FakeServer(), tmp_path, clock)
    assert (outcomes, told, clock.seconds) == ([RestoreOutcome.RESTORED], [], 0.0)
