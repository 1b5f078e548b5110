"""The guardian and restoring."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests import guardians
from tests.integration.support.processes import until
from tests.unit.tuning.fakes import TARGET, FakeClock, FakeServer, journal_in
from tuibench.base import paths
from tuibench.base.errors import RunError
from tuibench.base.paths import PRIVATE_SERVER_PREFIX
from tuibench.base.unix_sockets import is_listening, listen_unix, socket_path
from tuibench.tuning import guardian
from tuibench.tuning.connection import AdminConnection
from tuibench.tuning.guardian import restore_until_done
from tuibench.tuning.journal import Journal, JournalError, Settlement
from tuibench.tuning.restore import RestoreOutcome, restore_settings, restore_with_retries

# The guardian's process without a server, and its patience on a clock that nobody waits for.


async def test_it_ignores_signals_and_ends_with_the_session(tmp_path: Path) -> None:
    watching = await guardians.started(TARGET, tmp_path / "none.jsonl")
    assert os.getsid(watching.pid) == watching.pid
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        os.kill(watching.pid, number)
    assert not await watching.ensure_alive()
    assert await watching.release(wait_seconds=30)
    assert not watching.alive


async def test_a_killed_one_is_replaced(tmp_path: Path) -> None:
    watching = await guardians.started(TARGET, tmp_path / "none.jsonl")
    first = watching.pid
    os.kill(first, signal.SIGKILL)
    await asyncio.to_thread(os.waitid, os.P_PID, first, os.WEXITED | os.WNOWAIT)
    assert await watching.ensure_alive()
    assert watching.pid != first
    assert await watching.release(wait_seconds=30)


async def test_the_password_is_in_neither_argv_nor_environment(tmp_path: Path) -> None:
    watching = await guardians.started(TARGET, tmp_path / "none.jsonl")
    process = Path(f"/proc/{watching.pid}")
    if process.exists():
        assert b"secret" not in (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
    assert await watching.release(wait_seconds=30)


async def test_an_inherited_descriptor_stays_open_until_it_ends(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    watching = await guardians.started(TARGET, tmp_path / "none.jsonl", pass_fds=[writer])
    os.close(writer)
    os.set_blocking(reader, False)
    with pytest.raises(BlockingIOError):
        os.read(reader, 1)
    assert await watching.release(wait_seconds=30)
    assert os.read(reader, 1) == b""
    os.close(reader)


async def test_a_process_that_cannot_be_had_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guardian, "_COMMAND", ("/nowhere/python",))
    with pytest.raises(RunError, match="did not start: No such file"):
        await guardians.started(TARGET, tmp_path / "none.jsonl")


async def test_one_that_cannot_start_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guardian, "_COMMAND", (sys.executable, "-c", "raise SystemExit('no module')"))
    with pytest.raises(RunError, match="did not start: no module"):
        await guardians.started(TARGET, tmp_path / "none.jsonl")


def test_a_session_that_dies_before_the_order_needs_no_guardian() -> None:
    ours, theirs = socket.socketpair()
    ours.sendall(b'{"target":')
    ours.close()
    with theirs:
        ended = subprocess.run(
            guardian._COMMAND, stdin=theirs.fileno(), capture_output=True, timeout=60, check=False
        )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


@pytest.mark.parametrize("is_dead", [True, False])
async def test_it_removes_the_socket_of_a_dead_session(tuibench_home: Path, is_dead: bool) -> None:
    """One that listens still, or again, keeps it."""
    with listen_unix(path := socket_path("s1")) as listening:
        watching = await guardians.started(TARGET, paths.journal_dir() / "s1.jsonl")
        if is_dead:
            listening.close()
        assert await watching.release(wait_seconds=30)
        assert (path.exists(), is_listening(path)) == (not is_dead, not is_dead)


def test_it_loads_nothing_of_the_screen() -> None:
    program = "import sys, tuibench.tuning.guardian; print({'textual', 'rich', 'typer'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=True)
    assert ran.stdout == b"set()\n"


def left_behind(folder: Path, server: FakeServer) -> Path:
    """A dead session's journal: sync_binlog 1 → 0."""
    journal = journal_in(folder)
    journal.change("sync_binlog", "1", "0", 5.0)
    journal.close()
    server.settings["sync_binlog"] = "0"
    return journal.path


async def test_patience_with_a_server_that_comes_back(tmp_path: Path) -> None:
    server, clock = FakeServer(), FakeClock()
    path = left_behind(tmp_path, server)
    server.away = True

    def wake() -> None:
        server.away = clock.seconds < 60

    clock.at_sleep = wake
    assert await restore_until_done(path, server.connect, clock)
    assert 60 <= clock.seconds < 66
    assert server.settings["sync_binlog"] == "1"
    assert not path.exists()


async def test_patience_ends_and_the_journal_stays(tmp_path: Path) -> None:
    server, clock = FakeServer(), FakeClock()
    path = left_behind(tmp_path, server)
    server.away = True
    assert not await restore_until_done(path, server.connect, clock)
    assert 110 <= clock.seconds <= 120
    assert path.exists()


async def test_a_private_server_is_not_waited_for_once_its_data_are_gone(tmp_path: Path) -> None:
    """They are removed a moment after it was killed."""
    server, clock = FakeServer(), FakeClock()
    data = tmp_path / f"{PRIVATE_SERVER_PREFIX}1" / "data"
    data.mkdir(parents=True)
    journal = journal_in(tmp_path)
    journal.identify(f"{socket.gethostname()}:3306:{data}/")
    for number, name in enumerate(("sync_binlog", "innodb_flush_log_at_trx_commit")):
        journal.change(name, "1", "0", float(number))
    journal.close()
    server.away = True

    def remove() -> None:
        if clock.seconds > 1:
            shutil.rmtree(data.parent, ignore_errors=True)

    clock.at_sleep = remove
    assert await restore_until_done(journal.path, server.connect, clock)
    assert 1 < clock.seconds < 3
    assert not journal.path.exists()


async def test_it_waits_for_whoever_is_restoring_now(tmp_path: Path) -> None:
    server, clock = FakeServer(), FakeClock()
    path = left_behind(tmp_path, server)
    holder = Journal.claim(path)
    assert holder
    clock.at_sleep = holder.close
    assert await restore_until_done(path, server.connect, clock)
    assert server.settings["sync_binlog"] == "1"
    assert clock.seconds == 0.1


async def test_nothing_to_do_asks_nothing(tmp_path: Path) -> None:
    server = FakeServer()
    assert await restore_until_done(tmp_path / "gone.jsonl", server.connect, FakeClock())
    assert server.sent == []


@pytest.mark.parametrize("how", ["kept", "deleted", "moved", "locked"])
async def test_it_restores_from_the_file_that_it_holds(tmp_path: Path, how: str) -> None:
    """Wherever that is."""
    server, home = FakeServer(), tmp_path / "home"
    path = left_behind(home, server)
    held = os.open(path, os.O_RDWR | os.O_APPEND)
    if how == "deleted":
        shutil.rmtree(home)
    elif how == "moved":
        home.rename(tmp_path / "away")
    elif how == "locked":
        # Nothing can be made where the home was.
        shutil.rmtree(home)
        home.write_text("in the way")
    assert await restore_until_done(path, server.connect, FakeClock(), held)
    assert server.settings["sync_binlog"] == "1"
    assert not list(tmp_path.rglob("*.jsonl"))
    os.close(held)


async def test_it_writes_a_deleted_journal_again_for_the_session_above(tmp_path: Path) -> None:
    """Whose own one is written again, too, at its next sample."""
    server, clock, home = FakeServer(), FakeClock(), tmp_path / "home"
    path = left_behind(home, server)
    held = os.open(path, os.O_RDWR | os.O_APPEND)
    above = journal_in(home, "above")
    above.applied(above.change("sync_binlog", "0", "2", 6.0, seq=2))
    server.settings["sync_binlog"] = "2"
    shutil.rmtree(home)

    def sample() -> None:
        above.keep()

    clock.at_sleep = sample
    assert await restore_until_done(path, server.connect, clock, held)
    assert server.settings["sync_binlog"] == "2"
    (restored,) = await restore_settings(AdminConnection(server.connect), above, clock)
    assert restored.text == "sync_binlog 2 → 1, as before"
    assert not list(tmp_path.rglob("*.jsonl"))
    os.close(held)


async def test_what_is_settled_in_the_file_that_it_holds_is_not_restored_again(tmp_path: Path) -> None:
    """By `tuibench restore`, which came first."""
    server = FakeServer()
    path = left_behind(tmp_path, server)
    held = os.open(path, os.O_RDWR | os.O_APPEND)
    with Journal.claim(path) or journal_in(tmp_path) as journal:
        await restore_settings(AdminConnection(server.connect), journal, FakeClock())
    server.sent.clear()
    server.settings["sync_binlog"] = "0"
    assert await restore_until_done(path, server.connect, FakeClock(), held)
    assert (server.settings["sync_binlog"], server.sent) == ("0", [])
    os.close(held)


async def test_the_process_holds_the_file_of_the_journal(tmp_path: Path) -> None:
    """Each one: that which is there when the file is made, and that which follows it."""
    journal = journal_in(tmp_path)
    watching = await guardians.started(TARGET, journal.path)
    journal.on_file = watching.hold
    journal.change("sync_binlog", "1", "0", 5.0)
    first = watching.pid
    assert until(lambda: holds(first, journal.path))
    os.kill(first, signal.SIGKILL)
    await asyncio.to_thread(os.waitid, os.P_PID, first, os.WEXITED | os.WNOWAIT)
    assert await watching.ensure_alive()
    assert until(lambda: holds(watching.pid, journal.path))
    journal.settle((1,), Settlement.RESTORED, 6.0)
    assert await watching.release(wait_seconds=30)


def holds(pid: int, path: Path) -> bool:
    folder = Path(f"/proc/{pid}/fd")
    return any(each.samefile(path) for each in folder.iterdir() if each.exists())


async def test_another_server_is_not_waited_for(tmp_path: Path) -> None:
    server, clock = FakeServer(), FakeClock()
    path = left_behind(tmp_path, server)
    server.identity["hostname"] = "other"
    assert not await restore_until_done(path, server.connect, clock)
    assert (clock.seconds, path.exists()) == (0.0, True)


async def test_a_damaged_journal_stays(tmp_path: Path) -> None:
    server = FakeServer()
    path = left_behind(tmp_path, server)
    path.write_bytes(b"?\n" + path.read_bytes())
    with pytest.raises(JournalError):
        await restore_until_done(path, server.connect, FakeClock())
    assert server.sent == []
    assert path.exists()


# Trying again while the server is away: bounded, told, and said in SQL what is left to do.


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
